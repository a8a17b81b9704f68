//! A session as one web page that needs nothing else: no network, no server, and nothing of a session runs in it.
//!
//! Reading (`read`, `decode`) gives entries (`entry`), the tree cuts them into segments (`tree`), and the page (`page`)
//! writes each segment once: those of the branch that is shown as they are, the others as templates. Everything that
//! comes from a session goes through `escape`; `policy` makes the browser hold to that.

mod ansi;
mod article;
mod code;
mod decode;
mod diff;
mod entry;
mod error;
mod escape;
mod format;
mod highlight;
mod image;
mod markdown;
mod outline;
mod page;
mod policy;
mod read;
mod tool;
mod totals;
mod tree;
mod view;
mod write;

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

pub use error::Error;

use tree::Tree;
use view::View;

/// What a page may be made with.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The title; else it is the session's name, or the first message.
    pub title: Option<String>,
    /// The id of the entry that the conversation is at; else it is the last one of the file.
    pub leaf: Option<String>,
}

/// Writes the session in the file `session` as a page to `out`, and returns the page's absolute path.
///
/// The page appears whole or not at all. The session is not locked: it may be written to meanwhile.
pub fn export_file(session: &Path, out: &Path, options: &Options) -> Result<PathBuf, Error> {
    let file = File::open(session).map_err(|error| Error::Open { file: session.to_path_buf(), error })?;
    let target = write::Target::new(out, session)?;
    let read = read::read(BufReader::with_capacity(1 << 16, file)).map_err(|error| match error {
        Error::NotASession => Error::FileNotASession { file: session.to_path_buf() },
        Error::Read(error) => Error::Open { file: session.to_path_buf(), error },
        other => other,
    })?;
    target.write(|file| {
        let mut file = BufWriter::with_capacity(1 << 16, file);
        render(&read, &mut file, options)?;
        file.flush().map_err(Error::Write)
    })
}

/// Writes the session in `lines` as a page to `out`.
pub fn export_lines(lines: impl BufRead, mut out: impl Write, options: &Options) -> Result<(), Error> {
    render(&read::read(lines)?, &mut out, options)
}

/// Returns the name that a page of this session file has unless another is asked for.
pub fn default_name(session: &Path) -> String {
    let stem = session.file_stem().unwrap_or_default().to_string_lossy();
    format!("bowline-session-{stem}.html")
}

fn render(session: &entry::Session, out: &mut impl Write, options: &Options) -> Result<(), Error> {
    let leaf = match &options.leaf {
        Some(id) => {
            let positions = view::positions(session);
            let unknown = || Error::UnknownEntry { id: id.clone() };
            Some(positions.get(id.as_str()).copied().ok_or_else(unknown)?)
        }
        None => session.entries.len().checked_sub(1),
    };
    let tree = Tree::new(&session.entries, leaf);
    let view = View::new(session, &tree);
    page::write(out, &view, options.title.as_deref()).map_err(Error::Write)
}
