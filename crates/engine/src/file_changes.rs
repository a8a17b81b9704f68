//! What the runs of a session change in files: the recorder, and the order in which it works.
//!
//! The recorder reads and writes files, so it works on threads that may block, one job after the other. Only the index of
//! the workspace is taken beside the others, while the model thinks: it is the first command that waits for it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_core::file_changes::{RestoreReport, RunChanges};
use bowline_core::message::{Arguments, Content};
use bowline_core::tool::ToolTraits;
use bowline_session::EntryBody;
use bowline_tools::BoxFuture;
use bowline_undo::{Error, Options, Recorder, TurnEnd, incomplete_text};
use futures_util::FutureExt as _;
use futures_util::future::Shared;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use crate::settings::UndoSettings;

/// The folder in bowline's own that has a folder for each session.
pub const UNDO_FOLDER: &str = "undo";

/// The type of the message that tells the model that files were restored.
const RESTORED_MESSAGE: &str = "bowline.files_restored";

/// The most files that it names.
const MAX_NAMED: usize = 100;

/// Why nothing is recorded where nothing is written.
const OVERLAY: &str = "the workspace is an overlay, so runs change nothing until accept_changes; get_pending_changes lists what they \
                       did, and discard_changes takes it back";

type Job = Box<dyn FnOnce(&Recorder) + Send>;

/// The changes that the runs of a session make.
#[derive(Debug)]
pub(crate) struct FileChanges {
    tracker: Result<Tracker, &'static str>,
}

#[derive(Debug)]
struct Tracker {
    recorder: Arc<Recorder>,
    each_command: bool,
    /// Leads to the recorder's jobs, once there was one.
    jobs: Option<mpsc::UnboundedSender<Job>>,
    /// The run in progress.
    run: Option<TrackedRun>,
    /// The index that was taken last, which may still be in progress although its run is over.
    last_index: Option<Shared<BoxFuture<'static, ()>>>,
    /// Whether the client knows that something of this run cannot be put back.
    is_warned: bool,
}

#[derive(Debug)]
struct TrackedRun {
    /// Ends when the index was taken.
    index: Shared<BoxFuture<'static, ()>>,
    /// Whether a call of this turn may have changed files, and whether it was a command.
    turn: Touched,
    /// Whether a call of this run may have changed files.
    is_touched: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Touched {
    files: bool,
    commands: bool,
}

/// Where a session is, for its recorder.
pub(crate) struct Place<'a> {
    pub session_id: &'a str,
    pub session_file: Option<&'a Path>,
    pub working_directory: &'a Path,
    pub tools: &'a bowline_tools::Options,
}

/// What happens around a call that may change files.
pub(crate) struct Watched {
    /// Ends when what the call may change is known. Returns whether something of the run could not be recorded.
    pub before: BoxFuture<'static, bool>,
    /// Ends when what the call changed is known, if that is wanted for each call.
    pub after: Option<BoxFuture<'static, ()>>,
}

/// How a call may change files.
enum Way {
    File(PathBuf),
    Command,
}

impl FileChanges {
    pub fn new(settings: &UndoSettings, place: &Place<'_>) -> Self {
        let tracker = match (&place.tools.own_folder, place.session_file) {
            _ if !settings.enabled => Err("undo.enabled is off in settings.json"),
            _ if is_overlay(place.tools) => Err(OVERLAY),
            (None, _) | (_, None) => Err("the session is kept in memory only"),
            (Some(own), Some(file)) => {
                // The file by itself too: the working directory may be the folder that it is in.
                let excluded = [
                    Some(own.as_path()),
                    file.parent(),
                    Some(file),
                    place.tools.temporary_directory.as_deref(),
                ];
                let options = Options {
                    folder: own.join(UNDO_FOLDER).join(place.session_id),
                    workspace: place.working_directory.to_owned(),
                    home: place.tools.home_directory.clone(),
                    closed: bowline_tools::own_paths(own),
                    excluded: excluded.into_iter().flatten().map(Path::to_owned).collect(),
                    max_file_bytes: settings.max_file_bytes,
                    max_bytes: settings.max_bytes,
                    scans: settings.commands,
                };
                let recorder = Arc::new(Recorder::new(options));
                Ok(Tracker {
                    recorder,
                    each_command: settings.each_command,
                    jobs: None,
                    run: None,
                    last_index: None,
                    is_warned: false,
                })
            }
        };
        Self { tracker }
    }

    /// Returns why nothing is recorded, if so.
    pub fn unavailable(&self) -> Option<&'static str> {
        self.tracker.as_ref().err().copied()
    }

    /// Begins a run, unless one has begun.
    pub fn begin_run(&mut self, entry: Option<&str>, started: u64) {
        if let Ok(tracker) = &mut self.tracker {
            tracker.begin_run(entry, started);
        }
    }

    /// Returns what happens around a call, if it may change files.
    pub fn watch(
        &mut self,
        traits: Option<&ToolTraits>,
        effective: impl FnOnce() -> Option<Arguments>,
        end: TurnEnd,
    ) -> Option<Watched> {
        let tracker = self.tracker.as_mut().ok()?;
        let way = match traits {
            Some(traits) if !traits.mutates => return None,
            Some(traits) if traits.path_argument.is_some() => {
                Way::File(traits.path_in(&effective()?).map(PathBuf::from)?)
            }
            _ => Way::Command,
        };
        tracker.watch(way, end)
    }

    /// Has what a turn changed be found out, if its calls may have changed anything.
    pub fn end_turn(&mut self, end: TurnEnd) {
        let Ok(tracker) = &mut self.tracker else { return };
        let touched = tracker.run.as_mut().map(|run| std::mem::take(&mut run.turn)).unwrap_or_default();
        if touched.files || touched.commands {
            let end = TurnEnd { had_commands: touched.commands, ..end };
            drop(tracker.ask(move |recorder| noted(recorder, recorder.end_turn(&end))));
        }
    }

    /// Ends the run. Returns what it changed, as soon as that is known; `None` if no call may have changed anything.
    pub fn end_run(&mut self) -> Option<oneshot::Receiver<Option<RunChanges>>> {
        let tracker = self.tracker.as_mut().ok()?;
        let run = tracker.run.take()?;
        run.is_touched.then(|| tracker.ask(|recorder| noted(recorder, recorder.end_run()).flatten()))
    }

    /// Returns why what the run changes cannot be put back completely, if the client does not know yet.
    pub fn take_warning(&mut self) -> Option<String> {
        let tracker = self.tracker.as_mut().ok()?;
        let is_touched = tracker.run.as_ref().is_none_or(|run| run.is_touched);
        if tracker.is_warned || !is_touched {
            return None;
        }
        let failure = tracker.recorder.failure()?;
        tracker.is_warned = true;
        Some(incomplete_text(&failure))
    }

    /// Has the recorder do something after what it is doing. The result is missing if it panics.
    pub fn ask<R: Send + 'static>(
        &mut self,
        job: impl FnOnce(&Recorder) -> R + Send + 'static,
    ) -> Result<oneshot::Receiver<R>, &'static str> {
        let tracker = self.tracker.as_mut().map_err(|reason| *reason)?;
        Ok(tracker.ask(job))
    }
}

impl Tracker {
    fn begin_run(&mut self, entry: Option<&str>, started: u64) {
        if self.run.is_some() {
            return;
        }
        self.is_warned = false;
        let entry = entry.map(str::to_owned);
        let begun = self.ask(move |recorder| noted(recorder, recorder.begin_run(entry, started)));
        let recorder = Arc::clone(&self.recorder);
        let last_index = self.last_index.take();
        let index = async move {
            if let Some(last_index) = last_index {
                last_index.await;
            }
            let _ = begun.await;
            let index = move || noted(&recorder, recorder.take_index());
            let _ = tokio::task::spawn_blocking(index).await;
        };
        let index: BoxFuture<'static, ()> = Box::pin(index);
        let index = index.shared();
        tokio::spawn(index.clone());
        self.last_index = Some(index.clone());
        self.run = Some(TrackedRun { index, turn: Touched::default(), is_touched: false });
    }

    fn watch(&mut self, way: Way, end: TurnEnd) -> Option<Watched> {
        let run = self.run.as_mut()?;
        run.is_touched = true;
        let index = run.index.clone();
        match way {
            Way::File(path) => {
                run.turn.files = true;
                let kept = self.ask(move |recorder| {
                    noted(recorder, recorder.prepare_file(end.turn, &path));
                    recorder.failure().is_some()
                });
                Some(Watched { before: Box::pin(async move { kept.await.unwrap_or(true) }), after: None })
            }
            Way::Command => {
                run.turn.commands = true;
                let jobs = self.jobs();
                let then = jobs.clone();
                let before = async move {
                    index.await;
                    let prepared = ask(&jobs, |recorder| {
                        noted(recorder, recorder.prepare_command());
                        recorder.failure().is_some()
                    });
                    prepared.await.unwrap_or(true)
                };
                let after = self.each_command.then(|| {
                    let end = TurnEnd { had_commands: true, ..end };
                    let after: BoxFuture<'static, ()> = Box::pin(async move {
                        let ended = move |recorder: &Recorder| noted(recorder, recorder.end_turn(&end));
                        drop(ask(&then, ended).await);
                    });
                    after
                });
                Some(Watched { before: Box::pin(before), after })
            }
        }
    }

    fn ask<R: Send + 'static>(
        &mut self,
        job: impl FnOnce(&Recorder) -> R + Send + 'static,
    ) -> oneshot::Receiver<R> {
        ask(&self.jobs(), job)
    }

    /// Returns the way to the recorder's jobs, which are done one after the other.
    fn jobs(&mut self) -> mpsc::UnboundedSender<Job> {
        let recorder = &self.recorder;
        let jobs = self.jobs.get_or_insert_with(|| {
            let (sender, mut receiver) = mpsc::unbounded_channel::<Job>();
            let recorder = Arc::clone(recorder);
            tokio::spawn(async move {
                let mut jobs = Vec::new();
                while receiver.recv_many(&mut jobs, usize::MAX).await > 0 {
                    let (recorder, waiting) = (Arc::clone(&recorder), std::mem::take(&mut jobs));
                    let work = move || {
                        for job in waiting {
                            // A panic costs one job its result.
                            let _ = catch_unwind(AssertUnwindSafe(|| job(&recorder)));
                        }
                    };
                    let _ = tokio::task::spawn_blocking(work).await;
                }
            });
            sender
        });
        jobs.clone()
    }
}

/// Notes a failure of the recorder, so that the client learns of it. The call goes on all the same.
fn noted<T>(recorder: &Recorder, result: Result<T, Error>) -> Option<T> {
    result.inspect_err(|error| recorder.note_failure(error)).ok()
}

fn ask<R: Send + 'static>(
    jobs: &mpsc::UnboundedSender<Job>,
    job: impl FnOnce(&Recorder) -> R + Send + 'static,
) -> oneshot::Receiver<R> {
    let (sender, receiver) = oneshot::channel();
    let _ = jobs.send(Box::new(move |recorder| {
        let _ = sender.send(job(recorder));
    }));
    receiver
}

/// Tells whether tools change an overlay instead of the workspace.
fn is_overlay(tools: &bowline_tools::Options) -> bool {
    tools.confinement.as_ref().is_some_and(|confinement| confinement.summary().is_overlay())
}

/// Returns the message that tells the model that files were restored, or changed again.
pub fn restored_note(is_redo: bool, report: &RestoreReport) -> EntryBody {
    EntryBody::CustomMessage {
        custom_type: RESTORED_MESSAGE.to_owned(),
        content: vec![Content::text(restored_text(is_redo, report))].into(),
        display: false,
        details: Some(json!({ "redo": is_redo, "runs": report.runs })),
    }
}

/// Returns what the model reads when files were restored.
fn restored_text(is_redo: bool, report: &RestoreReport) -> String {
    let what = match is_redo {
        true => "The user had these changes made again, which had been taken back",
        false => {
            "The user took back changes that were made earlier in this conversation. These paths are as they were before"
        }
    };
    let named: Vec<_> = report.restored.iter().take(MAX_NAMED).map(|path| format!("- {path}")).collect();
    let more = match report.restored.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!("\n- and {more} more"),
    };
    format!(
        "<system-reminder>\n{what}:\n{}{more}\n\nRead a file again before you rely on its content.\n</system-reminder>",
        named.join("\n")
    )
}
