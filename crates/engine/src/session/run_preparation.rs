//! What extensions add to a prompt before its run starts: messages, and another system prompt.

use std::sync::Arc;

use bowline_core::hook::{HookEvent, HookKind};
use bowline_core::message::Message;
use tokio_util::sync::CancellationToken;

use super::Session;
use super::hook_points::HookPoint;
use super::hooks::OpenHook;
use super::message_preparation::start_additions;
use super::prompting::Submission;
use crate::activity::{Activity, Preparing};
use crate::hook_chain::{ChainOutcome, HookOutcome, call_all};
use crate::input::Step;
use crate::pending::{Awaited, PendingId};

impl Session {
    /// Lets extensions add to a prompt, and starts its run.
    pub(super) fn prepare_start(&mut self, submission: Submission) {
        if self.is_hooked(HookKind::BeforeAgentStart) {
            self.hook_start(submission);
        } else {
            self.prepare_messages(submission);
        }
    }

    fn hook_start(&mut self, submission: Submission) {
        let mut event = HookEvent::BeforeAgentStart {
            prompt: submission.message.text.clone(),
            images: submission.message.images.clone(),
            message: submission.of_extension.as_deref().cloned().map(Arc::new),
            system_prompt: Arc::default(),
            parts: Arc::default(),
            changes: Box::default(),
        };
        let system = self.system_prompt();
        self.mirror();
        let extensions = self.extensions.awaiting(HookKind::BeforeAgentStart, None);
        let cancel = CancellationToken::new();
        let preparing = (submission.origin.clone(), submission.receipt);
        let open = OpenHook::new(HookPoint::Start(submission), Arc::new(event.clone()), cancel.clone());
        let id = self.pending.start(Awaited::Hook(Box::new(open)), |reporter| async move {
            let built = system.build(&reporter).await;
            if let HookEvent::BeforeAgentStart { system_prompt, parts, .. } = &mut event {
                *system_prompt = built.text;
                *parts = built.parts;
            }
            let outcome = call_all(extensions, Arc::new(event), cancel, &reporter).await;
            reporter.send(Step::HookDone(outcome)).await;
        });
        let (origin, receipt) = preparing;
        self.activity = Activity::Preparing(Preparing { id, origin, receipt, aborts: Vec::new() });
    }

    /// Goes on with a prompt that extensions have added to.
    pub(super) fn start_hooked(&mut self, mut submission: Submission, outcome: HookOutcome) {
        self.tell_extensions(&outcome.event);
        submission.additions.extend(start_additions(outcome.results));
        self.prepare_messages(submission);
    }

    /// Makes the messages that a run starts with, shows them to extensions, and starts the run.
    fn prepare_messages(&mut self, mut submission: Submission) {
        let now = self.now();
        let message = std::mem::take(&mut submission.message);
        submission.message.output.clone_from(&message.output);
        let first = submission.of_extension.take().map(|message| *message);
        let mut messages = vec![first.unwrap_or_else(|| message.into_message(now))];
        let kept = self.queues.take_for_prompt();
        let added = submission.additions.iter_mut().filter_map(|additions| additions.message.take());
        messages.extend(kept.into_iter().chain(added).map(|draft| draft.into_message(now)));
        if !self.is_awaited(HookKind::MessageEnd, None) {
            return self.begin(submission, messages);
        }
        let (origin, receipt) = (submission.origin.clone(), submission.receipt);
        let shown = messages.iter().cloned().map(Arc::new).collect();
        let id = self.hook_messages(shown, HookPoint::PromptMessages { submission, messages });
        self.activity = Activity::Preparing(Preparing { id, origin, receipt, aborts: Vec::new() });
    }

    /// Starts the run whose messages extensions have seen.
    pub(super) fn prompt_messages_hooked(
        &mut self,
        submission: Submission,
        messages: Vec<Message>,
        outcome: HookOutcome,
    ) {
        let messages = match outcome.event {
            HookEvent::Context(hooked) => hooked.into_iter().map(Arc::unwrap_or_clone).collect(),
            _ => messages,
        };
        self.begin(submission, messages);
    }

    /// Calls extensions at the end of each of some messages. The outcome has the messages as the context.
    pub(super) fn hook_messages(&mut self, messages: Vec<Arc<Message>>, point: HookPoint) -> PendingId {
        self.mirror();
        let extensions = self.extensions.awaiting(HookKind::MessageEnd, None);
        let cancel = CancellationToken::new();
        let open = OpenHook::new(point, Arc::new(HookEvent::Context(messages.clone())), cancel.clone());
        self.pending.start(Awaited::Hook(Box::new(open)), |reporter| async move {
            let mut hooked = Vec::with_capacity(messages.len());
            for message in messages {
                let event = Arc::new(HookEvent::MessageEnd(Arc::clone(&message)));
                let outcome = call_all(extensions.clone(), event, cancel.clone(), &reporter).await;
                let event = outcome.into_hook_outcome().event;
                hooked.push(super::hook_points::message_of(event, message));
            }
            let outcome = ChainOutcome::unchanged(Arc::new(HookEvent::Context(hooked)));
            reporter.send(Step::HookDone(outcome)).await;
        })
    }
}
