//! Shows an exchange between a client and an agent on a page: live, from a recording, or as one HTML file.
//!
//! `pass_through` copies bytes between the client and the command and knows nothing of lines. What it copies goes over a
//! `queue` to a thread of its own (`recorder`), which makes rows of it: one line each, with its time and its direction,
//! with credentials masked. Rows go to a temporary file (`store`), so memory holds only where each begins. A page asks for
//! rows when it has room for them (`web`), and only then are they checked against the schema (`protocol`). So nothing that
//! happens to the page reaches the exchange.
//!
//! What rows mean is the page's business: the script in `page/` makes the conversation, the bars and the curves of them,
//! the same in a live page and in a saved one.

mod error;
mod import;
mod lines;
mod live;
mod masking;
mod page;
mod pass_through;
mod protocol;
mod queue;
mod recorder;
mod row;
#[cfg_attr(unix, path = "signals_unix.rs")]
#[cfg_attr(not(unix), path = "signals_other.rs")]
mod signals;
mod store;
mod web;

use std::path::PathBuf;
use std::sync::Arc;

pub use error::Error;
pub use live::{Client, Command, Exchange, run};
pub use masking::Masking;

use page::save;
use protocol::Protocols;
use recorder::Recorder;
use store::Store;

/// What a live and a recorded exchange have in common.
#[derive(Debug)]
pub struct Options {
    /// The dialect that records are checked by; by default the one that they look like.
    pub dialect: Option<String>,
    /// Where the page is saved at the end.
    pub page: Option<PathBuf>,
    /// Where a recording is written.
    pub recording: Option<PathBuf>,
    /// The folder for the temporary file.
    pub temporary_directory: PathBuf,
    /// What masks credentials.
    pub masking: Masking,
}

/// Shows a recording until a signal ends the process. If a file is to be saved, that is all that is done.
///
/// `tell` is called with the address of the page.
pub fn show(file: &std::path::Path, options: Options, tell: impl FnOnce(&str)) -> Result<(), Error> {
    let store = Arc::new(Store::new(&options.temporary_directory)?);
    let recorder = Recorder::new(Arc::clone(&store), options.masking, options.recording.as_deref())?;
    let is_saved = options.page.is_some() || options.recording.is_some();
    import::read(file, recorder)?;
    let protocols = Protocols::new(options.dialect.as_deref());
    if let Some(page) = &options.page {
        save(&store, &protocols, page, Some(file))?;
    }
    if is_saved { Ok(()) } else { live::serve(store, protocols, tell) }
}
