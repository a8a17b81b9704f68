//! Files that runs change: watching the calls that may do so, telling clients, and putting files back.

use std::sync::Arc;

use bowline_core::command::Origin;
use bowline_core::event::{Event, RunOutcome};
use bowline_core::file_changes::{ChangesQuery, ChangesReport, RestoreReport, RunChanges, UndoTarget};
use bowline_core::message::{Arguments, CustomMessage};
use bowline_core::reply::{Answer, FilesRestored, Refusal, RefusalCode};
use bowline_core::ui::{Display, NotifyLevel};
use bowline_session::EntryBody;
use bowline_tools::{BoxFuture, Outcome, Tool, WriteAccess, effective_arguments};
use bowline_undo::{Error, Recorder, TurnEnd};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Session;
use super::tool_calls::NOT_STARTED;
use crate::agent::Agent;
use crate::file_changes::{FileChanges, Place, Watched, restored_note};
use crate::input::Step;
use crate::pending::{Awaited, JobOrder, PendingId, Reporter};
use crate::run::Run;
use crate::tool_call_states::ToolStep;
use crate::transcript::Transcript;

/// The type of the entry that lists what a run changed.
const CHANGES_ENTRY: &str = "bowline.file_changes";

/// The most files that an entry names.
const MAX_NAMED: usize = 100;

impl Session {
    /// Begins to record what a run changes.
    pub(super) fn begin_file_changes(&mut self) {
        let (entry, now) = (self.transcript.leaf(), self.now());
        self.files.begin_run(entry.as_deref(), now);
    }

    /// Returns what happens around a call, if it may change files.
    pub(super) fn watch_call(
        &mut self,
        tool: &dyn Tool,
        call_id: &str,
        arguments: &Arguments,
        is_granted: bool,
    ) -> Option<Watched> {
        self.begin_file_changes();
        self.note_touch(tool.traits());
        let end = self.turn_end(Some(call_id.to_owned()));
        let options = self.instructions.toolbox().options();
        let (directory, home) = (self.transcript.working_directory(), options.home_directory.as_deref());
        // What the sandbox refuses to write is not to be copied either.
        let confinement = options.confinement.as_ref().filter(|confinement| confinement.is_active());
        let may_write = |path: &str| {
            confinement
                .is_none_or(|confinement| confinement.write_access(path.as_ref()) == WriteAccess::Allowed)
        };
        let effective = || {
            let arguments = effective_arguments(tool.name(), arguments, directory, home)?;
            let path = tool.traits()?.path_in(&arguments).map(ToOwned::to_owned);
            (is_granted || path.is_none_or(|path| may_write(&path))).then_some(arguments)
        };
        self.files.watch(tool.traits(), effective, end)
    }

    /// Has what the calls of a turn changed be found out.
    pub(super) fn end_turn_of_files(&mut self) {
        let end = self.turn_end(None);
        self.files.end_turn(end);
    }

    fn turn_end(&self, call: Option<String>) -> TurnEnd {
        let entry = self.transcript.leaf().map(|entry| entry.to_string());
        TurnEnd { turn: self.turn_index(), entry, call, had_commands: false }
    }

    /// Warns the user, once in a run, if something of it cannot be put back.
    pub(super) fn warn_of_lost_changes(&mut self) {
        if let Some(message) = self.files.take_warning() {
            self.show(Display::Notify { message, level: Some(NotifyLevel::Warning) });
        }
    }

    /// Waits for what the run changed before it ends, if it may have changed anything. Returns whether it does. An abort
    /// does not wait: clients learn of the changes afterwards.
    pub(super) fn waits_for_files(&mut self, outcome: &RunOutcome) -> bool {
        let Some(changes) = self.files.end_run() else { return self.waits_for_pending(outcome) };
        let waits = *outcome != RunOutcome::Aborted && !self.shutting_down;
        let settles = waits.then(|| outcome.clone());
        self.pending.start(Awaited::FileChanges(settles), |reporter| async move {
            let changes = changes.await.ok().flatten();
            reporter.send(Step::FileChanges(changes.map(Box::new))).await;
        });
        waits
    }

    /// Notes what a run changed, and ends the run if it waited for that.
    pub(super) fn files_changed(&mut self, id: PendingId, changes: Option<Box<RunChanges>>) {
        let Some(Awaited::FileChanges(settles)) = self.pending.remove(id) else { return };
        self.warn_of_lost_changes();
        if let Some(changes) = changes {
            self.append_note(changes_entry(&changes));
            if self.switches.shows_changes {
                self.emit(Event::RunChanges(Arc::new(*changes)));
            }
        }
        self.settle_after_files(settles);
    }

    /// Ends a run that waited for what it changed.
    pub(super) fn settle_after_files(&mut self, settles: Option<RunOutcome>) {
        match settles {
            // A limit on time stops a run as an abort does, but the run has failed.
            Some(outcome @ RunOutcome::Failed(_)) => self.settle_now(outcome),
            Some(_) if self.run().is_some_and(Run::is_aborted) => self.settle_now(RunOutcome::Aborted),
            Some(outcome) => self.settle_now(outcome),
            None => {}
        }
    }

    /// Ends a run that waits for what it changed. Its changes are noted later.
    pub(super) fn stop_waiting_for_files(&mut self) {
        if self.pending.release_file_changes() {
            self.settle_now(RunOutcome::Aborted);
        }
    }

    /// Replies with what runs changed.
    pub(super) fn get_changes(&mut self, origin: Origin, query: ChangesQuery) {
        if let Some(reason) = self.files.unavailable() {
            let report = ChangesReport { reason: Some(reason.to_owned()), ..ChangesReport::default() };
            return self.reply(origin, Ok(Answer::Changes(Box::new(report))));
        }
        let needs_entries = query.entry.is_some();
        self.ask_recorder(origin, needs_entries, move |recorder, entries| {
            Ok(Answer::Changes(Box::new(recorder.changes(&query, entries)?)))
        });
    }

    /// Restores files.
    pub(super) fn undo(&mut self, origin: Origin, target: UndoTarget, dry_run: bool) {
        let needs_entries = matches!(target, UndoTarget::AfterEntry(_));
        self.restore(origin, needs_entries, false, move |recorder, entries| {
            recorder.undo(&target, entries, dry_run)
        });
    }

    /// Changes files again that were restored.
    pub(super) fn redo(&mut self, origin: Origin, dry_run: bool) {
        self.restore(origin, false, true, move |recorder, _| recorder.redo(dry_run));
    }

    fn restore(
        &mut self,
        origin: Origin,
        needs_entries: bool,
        is_redo: bool,
        restore: impl FnOnce(&Recorder, &[String]) -> Result<RestoreReport, Error> + Send + 'static,
    ) {
        if !self.activity.is_idle() {
            let text = "A run is in progress; wait until it has ended, or abort it";
            return self.reply(origin, Err(Refusal::new(RefusalCode::Busy, text)));
        }
        if let Some(reason) = self.files.unavailable() {
            let text = format!("Changes of files are not recorded: {reason}");
            return self.reply(origin, Err(Refusal::new(RefusalCode::InvalidArgument, text)));
        }
        self.ask_recorder(origin, needs_entries, move |recorder, entries| {
            let report = restore(recorder, entries)?;
            Ok(Answer::FilesRestored(Box::new(FilesRestored { is_redo, report })))
        });
    }

    /// Replies with what the recorder says. Later commands wait for it.
    fn ask_recorder(
        &mut self,
        origin: Origin,
        needs_entries: bool,
        job: impl FnOnce(&Recorder, &[String]) -> Result<Answer, Error> + Send + 'static,
    ) {
        let reader = needs_entries.then(|| self.transcript.file().reader()).transpose();
        let reader = match reader {
            Ok(reader) => reader,
            Err(error) => return self.reply(origin, Err(crate::agent::session_unavailable(error))),
        };
        let answer = self.files.ask(move |recorder| {
            let entries = reader.and_then(|reader| reader.entries(None).ok()).unwrap_or_default();
            let ids: Vec<String> = entries.iter().filter_map(|entry| id_of(entry)).collect();
            job(recorder, &ids).map_err(refusal)
        });
        let internal = |text: &str| Refusal::new(RefusalCode::Internal, format!("Internal error: {text}"));
        match answer {
            Ok(answer) => self.reply_later(origin, JobOrder::Exclusive, async move {
                answer.await.unwrap_or_else(|_| Err(internal("undo stopped working")))
            }),
            Err(reason) => self.reply(origin, Err(internal(reason))),
        }
    }

    /// Tells the model and the clients that files were restored, or changed again.
    pub(super) fn note_restored(&mut self, restored: &FilesRestored) {
        let report = &restored.report;
        if report.dry_run || report.restored.is_empty() {
            return;
        }
        let EntryBody::CustomMessage { custom_type, content, display, details } =
            restored_note(restored.is_redo, report)
        else {
            return;
        };
        let timestamp = self.now();
        self.record_hidden(CustomMessage { custom_type, content, display, details, timestamp });
        self.emit(Event::FilesRestored(Arc::new(restored.clone())));
    }
}

/// Returns what records the changes of a session.
pub(super) fn track_files(agent: &Agent, transcript: &Transcript) -> FileChanges {
    let options = agent.toolbox().options();
    let place = Place {
        session_id: transcript.session_id(),
        session_file: transcript.file().file(),
        working_directory: transcript.working_directory(),
        tools: &options,
    };
    FileChanges::new(&agent.settings().undo, &place)
}

/// Runs a call once what it may change is known.
pub(super) fn watched_call(
    watched: Watched,
    cancel: CancellationToken,
    reporter: Reporter,
    start: impl FnOnce() -> BoxFuture<'static, Outcome> + Send + 'static,
) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let has_failed = tokio::select! {
            () = cancel.cancelled() => return Outcome::error(NOT_STARTED),
            has_failed = watched.before => has_failed,
        };
        if has_failed {
            reporter.send(Step::Tool(ToolStep::Progress)).await;
        }
        let outcome = start().await;
        if let Some(after) = watched.after {
            tokio::select! {
                () = cancel.cancelled() => {}
                () = after => {}
            }
        }
        outcome
    })
}

/// Returns the entry that lists what a run changed.
fn changes_entry(changes: &RunChanges) -> EntryBody {
    let files: Vec<Value> = changes
        .files
        .iter()
        .take(MAX_NAMED)
        .map(|file| match &file.reason {
            Some(reason) => json!({ "path": file.path, "change": file.change, "notCovered": reason }),
            None => json!({ "path": file.path, "change": file.change }),
        })
        .collect();
    let total = changes.files.len() as u64 + changes.omitted_files;
    let data = json!({
        "run": changes.run, "files": files, "totalFiles": total,
        "added": changes.added, "removed": changes.removed,
    });
    EntryBody::Custom { custom_type: CHANGES_ENTRY.to_owned(), data: Some(data) }
}

fn id_of(entry: &RawValue) -> Option<String> {
    let entry: Value = serde_json::from_str(entry.get()).ok()?;
    entry.get("id")?.as_str().map(str::to_owned)
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that map_err wants")]
fn refusal(error: Error) -> Refusal {
    let code = match error {
        Error::Access { .. } | Error::Unsupported => RefusalCode::Internal,
        Error::NothingToUndo | Error::NothingToRedo => RefusalCode::NothingToDo,
        _ => RefusalCode::InvalidArgument,
    };
    Refusal::new(code, error.to_string())
}
