//! What happens to a message of the user before it is admitted: a slash command of an extension takes it, extensions see
//! and change it.
//!
//! While a prompt is prepared, the session counts as running; a message for a queue keeps later commands waiting, so that
//! messages stay in order.

use std::sync::Arc;

use bowline_core::command::{Draft, Origin, Queue};
use bowline_core::hook::{HookEvent, HookKind, HookResult, InputSource, StartAdditions};
use bowline_core::output::OutputRequest;
use bowline_core::policy::IdleQueue;
use bowline_core::reply::{Answer, Disposition, Refusal, RefusalCode};
use bowline_extension::Expansion;
use tokio_util::sync::CancellationToken;

use super::Session;
use super::hook_points::HookPoint;
use super::prompting::{Receipt, Submission};
use crate::activity::{Activity, Preparing};
use crate::attachment::HeldPrompt;
use crate::extension::CommandResult;
use crate::hook_chain::HookOutcome;
use crate::input::Step;
use crate::pending::{Awaited, PendingId};

/// A message that has arrived.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub submission: Submission,
    pub destination: Destination,
    pub source: InputSource,
    /// Whether a leading slash can name a command, a skill or a template.
    pub expands: bool,
}

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    /// It starts a run; during one it is queued as `when_busy` says, or refused.
    Run { when_busy: Option<Queue> },
    /// It is queued; what it does if nothing is running is up to `otherwise`.
    Queue { queue: Queue, otherwise: IdleQueue },
}

/// A slash command of an extension that is running.
#[derive(Debug)]
pub(crate) struct RunningCommand {
    name: String,
    /// The extension that has it.
    extension: Arc<str>,
    origin: Origin,
    receipt: Receipt,
    destination: Destination,
    pub cancel: CancellationToken,
    /// The session that it was started in.
    session_id: String,
    /// What the prompt asks for, which is then asked of the message that the command sends instead.
    output: Option<OutputRequest>,
    /// Whether its extension has asked for the reload that ends it, which is no failure then.
    ends_with_reload: bool,
}

impl Session {
    /// Prepares a message and admits it.
    pub(super) fn take_message(&mut self, incoming: Incoming) {
        if incoming.expands
            && let Some((name, arguments)) = slash_command(&incoming.submission.message.text)
            && self.extensions.command(name).is_some()
        {
            let (name, arguments) = (name.to_owned(), arguments.to_owned());
            return self.run_extension_command(&name, &arguments, incoming);
        }
        if !self.is_hooked(HookKind::Input) {
            return self.expand(incoming);
        }
        let Draft { text, images, .. } = &incoming.submission.message;
        let is_running = self.activity.is_running();
        let streaming_behavior = match incoming.destination {
            Destination::Run { when_busy } => when_busy,
            Destination::Queue { queue, .. } => Some(queue),
        };
        let event = HookEvent::Input {
            text: text.clone(),
            images: images.clone(),
            source: incoming.source,
            streaming_behavior: streaming_behavior.filter(|_| is_running),
        };
        self.tell_extensions(&event);
        if !self.is_awaited(HookKind::Input, None) {
            return self.expand(incoming);
        }
        let (origin, receipt) = (incoming.submission.origin.clone(), incoming.submission.receipt);
        let is_prompt = matches!(incoming.destination, Destination::Run { .. });
        let id = self.call_extensions(event, HookPoint::Input(incoming));
        if is_prompt && self.activity.is_idle() {
            self.activity = Activity::Preparing(Preparing { id, origin, receipt, aborts: Vec::new() });
        }
    }

    /// Goes on with a message that extensions have seen.
    pub(super) fn input_hooked(&mut self, mut incoming: Incoming, outcome: HookOutcome) {
        let is_handled = outcome.results.contains(&HookResult::Handled) || outcome.stops_run();
        let HookOutcome { event, results } = outcome;
        if let HookEvent::Input { text, images, .. } = event {
            incoming.submission.message.text = text;
            incoming.submission.message.images = images;
        }
        if is_handled {
            let Submission { origin, receipt, .. } = incoming.submission;
            self.reply_accepted(origin, receipt, Answer::Accepted(Disposition::Handled));
        } else {
            incoming.submission.additions.extend(start_additions(results));
            self.expand(incoming);
        }
    }

    /// Replaces a skill or a template that a message names by its text, and admits the message. Files are read for that,
    /// so it happens in the background.
    fn expand(&mut self, incoming: Incoming) {
        let resources = self.instructions.resources().clone();
        let text = &incoming.submission.message.text;
        if !incoming.expands || resources.is_none() || !text.starts_with('/') {
            return self.admit_message(incoming);
        }
        let (text, directory) = (text.clone(), self.transcript.working_directory().to_owned());
        let (origin, receipt) = (incoming.submission.origin.clone(), incoming.submission.receipt);
        let is_prompt = matches!(incoming.destination, Destination::Run { .. });
        let id = self.pending.start(Awaited::Expansion(incoming), |reporter| async move {
            let work = tokio::task::spawn_blocking(move || resources.expand(&directory, &text));
            reporter.send(Step::Expanded(work.await.unwrap_or(Expansion::Unchanged))).await;
        });
        if is_prompt && self.activity.is_idle() {
            self.activity = Activity::Preparing(Preparing { id, origin, receipt, aborts: Vec::new() });
        }
    }

    /// Admits a message whose skill or template was read.
    pub(super) fn expanded(&mut self, id: PendingId, expansion: Expansion) {
        let Some(Awaited::Expansion(mut incoming)) = self.pending.remove(id) else { return };
        self.activity.end_preparing(id);
        match expansion {
            Expansion::Unchanged => {}
            Expansion::Expanded(text) => incoming.submission.message.text = text,
            Expansion::Failed(failure) => {
                self.extension_failed(&failure.path.to_string_lossy(), failure.event, failure.error);
            }
        }
        self.admit_message(incoming);
    }

    /// Admits a message that is ready.
    pub(super) fn admit_message(&mut self, incoming: Incoming) {
        let Incoming { submission, destination, .. } = incoming;
        match destination {
            Destination::Run { when_busy } => self.prompt(submission, when_busy),
            Destination::Queue { queue, otherwise } => self.steer(submission, queue, otherwise),
        }
    }

    /// Runs a slash command of an extension. It runs beside whatever is in progress.
    fn run_extension_command(&mut self, name: &str, arguments: &str, incoming: Incoming) {
        let Incoming { submission: Submission { origin, message, receipt, .. }, destination, .. } = incoming;
        if matches!(destination, Destination::Queue { .. }) {
            let text = format!(
                "Extension command \"/{name}\" cannot be queued. Use prompt() or execute the command when not streaming."
            );
            return self.reply(origin, Err(Refusal::new(RefusalCode::InvalidArgument, text)));
        }
        let Some((extension, own_name)) = self.extensions.command(name) else { return };
        self.mirror();
        let cancel = CancellationToken::new();
        let running = RunningCommand {
            name: name.to_owned(),
            extension: extension.name(),
            origin,
            receipt,
            destination,
            cancel: cancel.clone(),
            session_id: self.transcript.session_id().to_owned(),
            output: message.output,
            ends_with_reload: false,
        };
        let work = extension.run_command(&own_name, arguments, cancel);
        self.pending.start(Awaited::ExtensionCommand(running), |reporter| async move {
            let result = work.await;
            reporter.send(Step::ExtensionCommandDone(result)).await;
        });
    }

    /// Replies to the message that named a command of an extension.
    pub(super) fn extension_command_done(&mut self, id: PendingId, result: Result<CommandResult, String>) {
        let Some(Awaited::ExtensionCommand(running)) = self.pending.remove(id) else { return };
        let RunningCommand {
            name, origin, receipt, destination, session_id, output, ends_with_reload, ..
        } = running;
        if ends_with_reload {
            return self.reply_after_reload(HeldPrompt { origin, receipt });
        }
        match result {
            Ok(CommandResult::Prompt(message)) if session_id == self.transcript.session_id() => {
                let message = Draft { output, ..message };
                let submission = Submission::new(origin, message, receipt);
                let source = InputSource::Extension;
                let incoming = Incoming { submission, destination, source, expands: false };
                return self.take_message(incoming);
            }
            Ok(_) => {}
            Err(error) => self.extension_failed(&format!("command:{name}"), "command", error),
        }
        self.reply_accepted(origin, receipt, Answer::Accepted(Disposition::Handled));
    }

    /// Lets the commands of an extension go on until the extension ends, because it has asked for a reload.
    pub(super) fn let_commands_end_with_reload(&mut self, extension: &str) {
        for running in self.pending.running_commands() {
            running.ends_with_reload |= &*running.extension == extension;
        }
    }

    /// Ends the commands of extensions, because they are aborted or their session is left.
    pub(super) fn cancel_extension_commands(&mut self, error: Option<&str>) {
        for id in self.pending.extension_commands() {
            let Some(Awaited::ExtensionCommand(running)) = self.pending.awaited(id) else { continue };
            if running.ends_with_reload && error.is_some() {
                continue;
            }
            running.cancel.cancel();
            match error {
                Some(error) => self.extension_command_done(id, Err(error.to_owned())),
                None => self.extension_command_done(id, Ok(CommandResult::Done)),
            }
        }
    }
}

/// Returns the additions to a prompt that hooks returned.
pub(super) fn start_additions(results: Vec<HookResult>) -> impl Iterator<Item = StartAdditions> {
    results.into_iter().filter_map(|result| match result {
        HookResult::Start(additions) => Some(additions),
        _ => None,
    })
}

/// Splits a text with a leading slash into the name of a command and what follows it.
pub(super) fn slash_command(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('/')?;
    let (name, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
    (!name.is_empty()).then_some((name, arguments))
}
