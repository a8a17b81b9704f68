//! `bowline extension check`: starts an extension, calls everything that it registers, and shows what came back.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bowline_core::hook::{HookEvent, HookKind, HookRole, Subscription};
use bowline_engine::Extension;
use bowline_extension_host::{Direction, Found, Named, NotLoaded, Places};
use bowline_tools::CallContext;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::report::{Report, Step, Verdict};
use super::sample_arguments::{self, SAMPLE_FILE};
use super::sample_events::Samples;
use super::sample_requests;
use super::trial::{Line, Trial};
use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::SettingsFile;
use crate::{resources, startup};

/// How long a tool or a command may take before it is cancelled. In a session they may take any time.
pub(super) const LONGEST_CALL: Duration = Duration::from_secs(10);

/// How long what an extension sends after a call is waited for.
const AFTERMATH: Duration = Duration::from_millis(100);

/// Checks the extension at a path. The exit code is 1 if something is wrong with it.
pub(super) fn check(
    path: &str,
    arguments: &Arguments,
    environment: &Environment,
    entry: &bowline_dialect::Entry,
) -> Result<ExitCode, Failure> {
    // An extension is tried out where it can do no harm, unless the user names a folder.
    let scratch = Scratch::new(environment, arguments.working_directory.is_some())?;
    let places = Places {
        named: vec![Named::Path(environment.expand(path))],
        only_named: true,
        own_folder: environment.home.clone(),
        home: environment.user_home.clone(),
        ..Places::default()
    };
    let found = places.discover(&scratch.directory, true);
    let file = SettingsFile::of_user(environment)?;
    let resources = resources::choose(arguments, environment, &file);
    let (plan, providers) =
        startup::extension_plan_of(arguments, environment, entry, &file, &resources, places)?;
    let samples =
        Samples::new().map_err(|error| Failure::Usage(format!("a sample is not valid: {error}")))?;
    let directory = scratch.directory.clone();
    let report = crate::blocking::block_on(async {
        let Some(mut trial) = Trial::start(plan, providers, directory, samples) else {
            return Report::default();
        };
        let report = run(&mut trial, &found).await;
        trial.stop().await;
        report
    })?;
    report.show(arguments)?;
    Ok(if report.is_fine() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Tries out every extension of a trial.
async fn run(trial: &mut Trial, found: &[Found]) -> Report {
    let mut report = Report::default();
    let took = trial.become_ready_timed().await;
    for found in found {
        // The host reports those that were wanted and cannot be loaded.
        if let Err(NotLoaded::Unused(reason)) = &found.launch {
            report.problems.push(format!("{}: {reason}", found.path.display()));
        }
    }
    report.add_problems(trial);
    for extension in trial.extensions() {
        let about = found.iter().find(|found| *found.path.to_string_lossy() == *extension.name());
        let registered = registration(&trial.take_lines());
        report.begin(&extension.name(), about, registered.as_ref(), took);
        let Some(registered) = registered else { continue };
        hooks(trial, &extension, &mut report).await;
        tools(trial, &extension, &mut report).await;
        commands(trial, &extension, &mut report).await;
        sample_requests::providers(trial, &registered, &mut report).await;
    }
    report
}

/// Returns the `registered` record.
fn registration(lines: &[Line]) -> Option<Value> {
    let records = lines.iter().filter(|line| line.direction == Direction::FromExtension);
    records.filter_map(Line::record).find(|record| record["type"] == "registered")
}

async fn hooks(trial: &mut Trial, extension: &Arc<dyn Extension>, report: &mut Report) {
    let directory = trial.directory.clone();
    for hook in HookKind::ALL {
        let takes = |tool: &str| extension.subscription(*hook, Some(tool)) != Subscription::None;
        for event in trial.samples.of(*hook, &directory, takes) {
            match extension.subscription(*hook, event.tool()) {
                Subscription::None => {}
                Subscription::Told => tell(trial, extension, &event, report).await,
                Subscription::Awaited => {
                    let asked = call(trial, extension, event.clone(), report).await;
                    if asked {
                        trial.user_agrees = false;
                        call(trial, extension, event, report).await;
                        trial.user_agrees = true;
                    }
                }
            }
        }
    }
}

/// Calls a hook and waits for its result. Returns whether the user was asked something.
async fn call(
    trial: &mut Trial,
    extension: &Arc<dyn Extension>,
    event: HookEvent,
    report: &mut Report,
) -> bool {
    let hook = event.kind();
    let work = extension.call(Arc::new(event), CancellationToken::new());
    let (result, took) = trial.during(work).await;
    let lines = trial.take_lines();
    let verdict = match (&result, answer(&lines)) {
        (Err(problem), _) => Verdict::Wrong(problem.clone()),
        (Ok(_), Some(answer)) if hook.role() == HookRole::Observes && !answer["result"].is_null() => {
            Verdict::Wrong(format!("{} takes no result, so it has no effect", hook.as_str()))
        }
        (Ok(_), Some(answer)) => Verdict::Answered(answer["result"].clone()),
        (Ok(_), None) => Verdict::Answered(Value::Null),
    };
    let step = Step::new("hook", hook.as_str(), sent(&lines, "event"), took, verdict, &lines);
    let has_asked = step.has_asked_the_user();
    report.steps.push(step);
    report.add_problems(trial);
    has_asked
}

/// Tells of an event, and waits a moment for what the extension does about it.
async fn tell(trial: &mut Trial, extension: &Arc<dyn Extension>, event: &HookEvent, report: &mut Report) {
    extension.tell(event);
    let ((), took) = trial.during(tokio::time::sleep(AFTERMATH)).await;
    let lines = trial.take_lines();
    let name = event.kind().as_str();
    report.steps.push(Step::new("hook", name, sent(&lines, "event"), took, Verdict::Told, &lines));
    report.add_problems(trial);
}

async fn tools(trial: &mut Trial, extension: &Arc<dyn Extension>, report: &mut Report) {
    let tools = trial.tools.get(&extension.name()).cloned().unwrap_or_default();
    for offered in tools {
        let definition = offered.tool.definition();
        let arguments = sample_arguments::of(&definition.parameters);
        let cancel = CancellationToken::new();
        let context = CallContext {
            working_directory: trial.directory.clone(),
            cancel: cancel.clone(),
            progress: Arc::new(|_| {}),
            environment: Vec::new(),
            takes_images: true,
            session_id: Some("trial".to_owned()),
            call_id: Some("call_1".to_owned()),
            todos: bowline_tools::TodoList::default(),
            grants: bowline_core::sandbox::Grants::default(),
            editor: None,
        };
        let work = within(LONGEST_CALL, cancel, offered.tool.call(context, arguments.clone()));
        let ((outcome, was_cancelled), took) = trial.during(work).await;
        let lines = trial.take_lines();
        let answer = answer(&lines).map(|answer| answer["result"].clone()).unwrap_or_default();
        let text = bowline_core::message::join_text(&outcome.content);
        let verdict = match (was_cancelled, outcome.is_error, answer.is_null()) {
            (true, ..) => Verdict::Cancelled,
            // The host says so of what is no result of a tool.
            (_, true, false) if text.starts_with("The extension returned an invalid result") => {
                Verdict::Wrong(text)
            }
            (_, true, _) => Verdict::Failed(text),
            _ => Verdict::Answered(answer),
        };
        report.steps.push(Step::new("tool", &definition.name, json!(arguments), took, verdict, &lines));
        report.add_problems(trial);
    }
}

async fn commands(trial: &mut Trial, extension: &Arc<dyn Extension>, report: &mut Report) {
    let commands = trial.commands.get(&extension.name()).cloned().unwrap_or_default();
    for command in commands {
        let cancel = CancellationToken::new();
        let work =
            within(LONGEST_CALL, cancel.clone(), extension.run_command(&command.name, "sample", cancel));
        let ((result, was_cancelled), took) = trial.during(work).await;
        let lines = trial.take_lines();
        let verdict = match (result, was_cancelled) {
            (_, true) => Verdict::Cancelled,
            (Ok(_), _) => Verdict::Answered(Value::Null),
            (Err(problem), _) => Verdict::Failed(problem),
        };
        let name = format!("/{}", command.name);
        report.steps.push(Step::new("command", &name, json!("sample"), took, verdict, &lines));
        report.add_problems(trial);
        if command.has_completion {
            complete(trial, extension, &command.name, report).await;
        }
    }
}

/// Asks what can follow the name of a command. A failure is among the problems.
async fn complete(trial: &mut Trial, extension: &Arc<dyn Extension>, command: &str, report: &mut Report) {
    let work = Arc::clone(extension).complete(command, "", CancellationToken::new());
    let (_, took) = trial.during(work).await;
    let lines = trial.take_lines();
    let listed = answer(&lines).map(|answer| answer["result"].clone()).unwrap_or_default();
    let name = format!("/{command} ");
    report.steps.push(Step::new("completion", &name, json!(""), took, Verdict::Answered(listed), &lines));
    report.add_problems(trial);
}

/// Waits for something, and cancels it after a while. Returns whether it had to.
async fn within<T>(limit: Duration, cancel: CancellationToken, work: impl Future<Output = T>) -> (T, bool) {
    let mut work = std::pin::pin!(work);
    match tokio::time::timeout(limit, &mut work).await {
        Ok(result) => (result, false),
        Err(_) => {
            cancel.cancel();
            (work.await, true)
        }
    }
}

/// Returns the record with the answer to a call.
fn answer(lines: &[Line]) -> Option<Value> {
    let sent = lines.iter().rev().filter(|line| line.direction == Direction::FromExtension);
    sent.filter_map(Line::record).find(|record| record["type"] == "result")
}

/// Returns a field of the call that was sent.
fn sent(lines: &[Line], field: &str) -> Value {
    let sent = lines.iter().filter(|line| line.direction == Direction::ToExtension);
    sent.filter_map(Line::record)
        .find_map(|mut record| record.get_mut(field).map(Value::take))
        .unwrap_or_default()
}

/// The folder of a trial.
struct Scratch {
    directory: PathBuf,
    /// Removed at the end.
    is_temporary: bool,
}

impl Scratch {
    fn new(environment: &Environment, uses_working_directory: bool) -> Result<Self, Failure> {
        if uses_working_directory {
            return Ok(Self { directory: environment.working_directory.clone(), is_temporary: false });
        }
        let name = format!("bowline-check-{}-{:x}", std::process::id(), rand_suffix());
        let directory = environment.temporary_directory.join(name);
        let failed = Failure::io("creating a folder to try the extension out in");
        std::fs::create_dir(&directory).map_err(&failed)?;
        let scratch = Self { directory, is_temporary: true };
        std::fs::write(scratch.directory.join(SAMPLE_FILE), "A sample of a text file.\n").map_err(&failed)?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.is_temporary {
            let _ = std::fs::remove_dir_all(&self.directory);
        }
    }
}

/// Returns a number that differs from run to run, so that nobody can prepare the folder.
fn rand_suffix() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
