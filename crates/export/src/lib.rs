//! Exports a session as one HTML page that needs no network and no server, and runs nothing that comes from the session.
//!
//! `bowline-session` reads the file. The entries are divided into segments (`segments`), `view` looks up what belongs
//! together, and `page` writes each segment once: those of the displayed branch as they are, the others in templates.
//! Entries are read when they are rendered, so memory is bounded by the index and the largest entry. All text from a
//! session goes through `escape`; the content security policy (`policy`) makes the browser enforce that.

mod ansi;
mod article;
mod changes;
mod code;
mod diff;
mod error;
mod escape;
mod format;
mod highlight;
mod image;
mod markdown;
mod outline;
mod page;
mod policy;
mod segments;
mod tool;
mod totals;
mod view;
mod write;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use bowline_core::file_changes::RunChanges;
use bowline_core::tool::ToolTraits;
use bowline_session::Session;

pub use error::Error;
pub use page::GENERATOR;
pub use policy::{THEME_SCRIPT, THEME_STYLE, content_security_policy};
pub use write::Target;

use segments::Segments;
use view::View;

/// The options of an export.
#[derive(Debug, Clone)]
pub struct Options {
    /// The title; by default the session's name, or its first message.
    pub title: Option<String>,
    /// The id of the entry that the displayed branch ends at; by default the last one in the file.
    pub leaf: Option<String>,
    /// Looks up the traits of a tool by name; calls of unknown tools are shown as JSON.
    pub tools: fn(&str) -> Option<&'static ToolTraits>,
    /// What runs changed in files.
    pub changes: Vec<RunChanges>,
}

impl Default for Options {
    fn default() -> Self {
        Self { title: None, leaf: None, tools: |_| None, changes: Vec::new() }
    }
}

/// Exports the session file `session` to the page `out`, and returns the absolute path of the page.
///
/// The page is written completely or not at all. The session is not locked, so it may be in use.
pub fn export_file(session: &Path, out: &Path, options: &Options) -> Result<PathBuf, Error> {
    let target = Target::new(out, Some(session))?;
    let session = Session::read_for_display(session)?;
    target.write(|file| {
        let mut file = BufWriter::with_capacity(1 << 16, file);
        export_session(&session, &mut file, options)?;
        file.flush().map_err(Error::Write)
    })
}

/// Writes the page of `session` to `out`.
pub fn export_session(session: &Session, out: &mut impl Write, options: &Options) -> Result<(), Error> {
    let leaf = match &options.leaf {
        Some(id) => Some(session.number_of(id).ok_or_else(|| Error::UnknownEntry { id: id.clone() })?),
        None => session.entry_count().checked_sub(1),
    };
    let parents: Vec<_> = (0..session.entry_count()).map(|number| session.place(number).parent).collect();
    let segments = Segments::new(&parents, leaf);
    let view = View::new(session, &segments, options.tools)?;
    page::write(out, &view, options)
}

/// Returns the default name of the page for a session file.
pub fn default_name(session: &Path) -> String {
    let stem = session.file_stem().unwrap_or_default().to_string_lossy();
    format!("bowline-session-{stem}.html")
}
