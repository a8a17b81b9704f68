//! The session as an HTML page.

use std::path::PathBuf;

use bowline_core::command::Origin;
use bowline_core::file_changes::ChangesQuery;
use bowline_core::reply::{Answer, Refusal, RefusalCode};
use bowline_export::{Options, default_name, export_file};

use crate::pending::JobOrder;
use crate::session::Session;

impl Session {
    /// Writes the page in the background and replies when it is there.
    pub(super) fn export_html(&mut self, origin: Origin, path: Option<PathBuf>) {
        let refuse = |text: &str| Err(Refusal::new(RefusalCode::NothingToDo, text));
        let Some(file) = self.file().map(ToOwned::to_owned) else {
            return self.reply(origin, refuse("Cannot export in-memory session to HTML"));
        };
        if !self.transcript.file().is_saved() {
            return self.reply(origin, refuse("Nothing to export yet - start a conversation first"));
        }
        let directory = self.transcript.working_directory();
        let out = directory.join(path.unwrap_or_else(|| default_name(&file).into()));
        let leaf = self.transcript.leaf().map(|leaf| leaf.to_string());
        let query = ChangesQuery { with_diff: true, ..ChangesQuery::default() };
        let changes = self.files.ask(move |recorder| recorder.recorded(&query).unwrap_or_default());
        self.reply_later(origin, JobOrder::Beside, async move {
            let changes = match changes {
                Ok(changes) => changes.await.unwrap_or_default(),
                Err(_) => Vec::new(),
            };
            let options = Options { title: None, leaf, tools: bowline_tools::traits_of, changes };
            let written = tokio::task::spawn_blocking(move || export_file(&file, &out, &options)).await;
            let failed = |text: String| Refusal::new(RefusalCode::StorageFailed, text);
            match written {
                Ok(result) => match result {
                    Ok(path) => Ok(Answer::Exported { path }),
                    Err(error) => Err(failed(error.to_string())),
                },
                Err(error) => Err(failed(error.to_string())),
            }
        });
    }
}
