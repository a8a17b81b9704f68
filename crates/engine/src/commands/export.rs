//! The session as a page to read.

use std::path::PathBuf;

use bowline_core::command::Origin;
use bowline_core::reply::{Answer, Refusal, RefusalCode};
use bowline_export::{Options, default_name, export_file};

use crate::engine::{Engine, Input};
use crate::task::Task;

/// A page that is being written.
#[derive(Debug)]
pub(crate) struct Exporting {
    number: u64,
    origin: Origin,
    _task: Task,
}

impl Engine {
    /// Writes the page beside everything else; it is answered when it is there.
    pub(crate) fn export_html(&mut self, origin: Origin, path: Option<PathBuf>) {
        let refuse = |text: &str| Err(Refusal::new(RefusalCode::NothingToDo, text));
        let Some(file) = self.session.file().map(ToOwned::to_owned) else {
            return self.reply(origin, refuse("Cannot export in-memory session to HTML"));
        };
        if !self.session.is_saved() {
            return self.reply(origin, refuse("Nothing to export yet - start a conversation first"));
        }
        let directory = self.session.working_directory();
        let out = directory.join(path.unwrap_or_else(|| default_name(&file).into()));
        let leaf = self.session.leaf().map(|leaf| leaf.as_str().to_owned());
        let number = self.next_number();
        let inputs = self.inputs.clone();
        let task = Task::spawn(async move {
            let options = Options { title: None, leaf, tools: bowline_tools::traits_of };
            let written = tokio::task::spawn_blocking(move || export_file(&file, &out, &options)).await;
            let result = match written {
                Ok(result) => result.map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            let _ = inputs.send(Input::Exported { number, result }).await;
        });
        self.exporting.push(Exporting { number, origin, _task: task });
    }

    pub(crate) fn exported(&mut self, number: u64, result: Result<PathBuf, String>) {
        let Some(index) = self.exporting.iter().position(|exporting| exporting.number == number) else {
            return;
        };
        let Exporting { origin, .. } = self.exporting.remove(index);
        let result = result.map(|path| Answer::Exported { path });
        self.reply(origin, result.map_err(|text| Refusal::new(RefusalCode::StorageFailed, text)));
    }
}
