//! Virtual models: asking which model a request goes to, and making room in the window of that one.

use std::sync::Arc;
use std::time::Instant;

use bowline_core::event::CompactionReason;
use bowline_core::message::Message;
use bowline_core::model::Model;
use bowline_core::reply::Refusal;
use bowline_llm::{Assembly, RouteReason, RouteRequest, Routed, latest_answer};
use bowline_session::EntryBody;

use super::model_answer::AnswerStep;
use super::{Continuation, Session};
use crate::conversation::ModelName;
use crate::input::Step;
use crate::pending::Awaited;
use crate::run::{Answering, Phase, Run};

/// A request whose model is known, and that waits until there is room for it.
#[derive(Debug)]
pub(crate) struct RoutedCall {
    pub answering: Answering,
    pub routed: Routed,
}

impl Session {
    /// Asks which model the next request of the run goes to, because the chosen one is virtual.
    pub(super) fn ask_for_route(&mut self, model: Arc<Model>) {
        let messages = self.transcript.messages();
        let failed = self.run().and_then(Run::failed_answer).cloned();
        let reason = match &failed {
            Some(_) => RouteReason::Retry,
            None if follows_user(messages) => RouteReason::User,
            None => RouteReason::Continuation,
        };
        // The extensions of a subagent's session belong to the session above it.
        let is_child = self.subagents.place.depth > 0;
        let conversation = is_child.then(|| messages.to_vec());
        let request = RouteRequest {
            model: Arc::clone(&model),
            thinking: self.models.level(),
            reason,
            previous: latest_answer(messages),
            failed,
            conversation: None,
        };
        self.mirror();
        let providers = self.agent.providers().clone();
        let system = self.system_prompt();
        let id = self.pending.start(Awaited::Answer, |reporter| async move {
            let mut request = request;
            if let Some(messages) = conversation {
                request.conversation = Some((system.text(&reporter).await, messages));
            }
            let step = match providers.route(request).await {
                Ok(routed) => AnswerStep::Routed(routed),
                Err(error) => AnswerStep::Failed(error),
            };
            reporter.send(Step::Answer(step)).await;
        });
        let assembly = Assembly::new(model, self.now());
        let answering =
            Answering { id, assembly, asked: Instant::now(), first_piece: None, is_announced: false };
        self.set_phase(Phase::Answering(Box::new(answering)));
    }

    /// Sends the request to the model that was chosen for it, once the conversation fits into its window.
    pub(super) fn request_routed(&mut self, mut answering: Answering, routed: Routed) {
        self.pending.remove(answering.id);
        if let Some(run) = self.run_mut() {
            run.set_model(Arc::clone(&routed.model));
        }
        // From now on, the answer is one of this model.
        answering.assembly = Assembly::new(Arc::clone(&routed.model), self.now());
        let is_full = self.is_worth_compacting_for(&routed.model);
        let call = RoutedCall { answering, routed };
        if is_full {
            let then = Continuation::CallRouted(Box::new(call));
            return self.start_compaction(CompactionReason::Threshold, None, then);
        }
        self.request_now(call);
    }

    /// Sends a request whose model is known.
    pub(super) fn request_now(&mut self, call: RoutedCall) {
        self.request_answer(call.routed, true);
    }

    /// Returns the model whose limits apply to the conversation: under a virtual model, the one that answered last.
    pub(super) fn limiting_model(&self) -> Option<Arc<Model>> {
        let active = self.active_model()?;
        let providers = self.agent.providers();
        if !providers.is_virtual(active) {
            return Some(Arc::clone(active));
        }
        let answered = latest_answer(self.transcript.messages())
            .and_then(|answered| providers.find_stored(&answered.provider, &answered.model))
            .filter(|model| !providers.is_virtual(model));
        Some(answered.unwrap_or_else(|| Arc::clone(active)))
    }

    /// Writes the chosen model to the file where whoever opens it would find another one and one of them is virtual: answers
    /// do not name a virtual model, and the conversation may go on from an entry before it was chosen.
    pub(super) fn record_selection(&mut self) -> Result<(), Refusal> {
        let providers = self.agent.providers();
        let Some(current) = self.models.current() else { return Ok(()) };
        let (chosen, answered) = self.transcript.conversation().models();
        let is_virtual = |name: &&ModelName| {
            providers.find_stored(&name.0, &name.1).is_some_and(|model| providers.is_virtual(&model))
        };
        let held = chosen.filter(is_virtual);
        let Some((provider, id)) = held.or(answered) else { return Ok(()) };
        let is_same = *provider == current.provider && *id == current.id;
        if is_same || (held.is_none() && !providers.is_virtual(current)) {
            return Ok(());
        }
        let (provider, model_id) = (current.provider.clone(), current.id.clone());
        self.transcript.append(EntryBody::ModelChange { provider, model_id }).map(|_| ())
    }
}

/// Tells whether the user has said something since the last answer.
fn follows_user(messages: &[Arc<Message>]) -> bool {
    let since = messages.iter().rev().take_while(|message| message.as_assistant().is_none());
    since.into_iter().any(|message| matches!(**message, Message::User(_)))
}
