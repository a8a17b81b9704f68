//! Commands that ask about the state of the session.

use std::path::PathBuf;

use bowline_core::command::{Origin, Queue};
use bowline_core::message::StopReason;
use bowline_core::policy::StateDetail;
use bowline_core::reply::{
    Answer, ContextUsage, Instructions, ModelUsage, Refusal, SessionStatistics, State,
};

use crate::agent::session_unavailable;
use crate::estimate::reported_tokens;
use crate::input::Step;
use crate::instructions::{BuiltPrompt, Prompt, UnbuiltPrompt};
use crate::pending::{Awaited, PendingId};
use crate::session::Session;

impl Session {
    /// Replies with the state, once the system prompt is known where the policy wants it.
    pub(super) fn get_state(&mut self, origin: Origin) {
        let mut state = self.state();
        if self.agent.policy().state_detail == StateDetail::WithInstructions {
            match self.system_prompt() {
                Prompt::Built(prompt) => state.instructions = Some(self.instructions_with(prompt)),
                Prompt::Unbuilt(prompt) => return self.build_prompt_for_state(origin, state, *prompt),
            }
        }
        self.reply(origin, Ok(Answer::State(state)));
    }

    fn build_prompt_for_state(&mut self, origin: Origin, state: Box<State>, prompt: UnbuiltPrompt) {
        self.pending.start(Awaited::State { origin, state }, |reporter| async move {
            let built = prompt.build_in_background().await;
            reporter.send(Step::SystemPrompt(built)).await;
        });
    }

    /// Replies to the request of the state that waited for the system prompt.
    pub(in crate::session) fn state_ready(&mut self, id: PendingId, built: BuiltPrompt) {
        self.instructions.keep(built.clone());
        if let Some(Awaited::State { origin, mut state }) = self.pending.remove(id) {
            state.instructions = Some(self.instructions_with(built));
            self.reply(origin, Ok(Answer::State(state)));
        }
    }

    /// Refuses the request of the state that waited for the system prompt.
    pub(in crate::session) fn state_unavailable(&mut self, id: PendingId, refusal: Refusal) {
        if let Some(Awaited::State { origin, .. }) = self.pending.remove(id) {
            self.reply(origin, Err(refusal));
        }
    }

    fn instructions_with(&self, prompt: BuiltPrompt) -> Instructions {
        Instructions {
            system_prompt: prompt.text,
            context_files: prompt.context_files,
            tools: self.instructions.definitions(),
        }
    }

    /// Returns the state without instructions.
    fn state(&self) -> Box<State> {
        Box::new(State {
            model: self.models.current().cloned(),
            thinking_level: self.models.level(),
            is_streaming: self.activity.is_running(),
            is_compacting: self.activity.is_summarizing(),
            steering_mode: self.queues.mode(Queue::Steering),
            follow_up_mode: self.queues.mode(Queue::FollowUp),
            interrupt_mode: self.switches.interrupt_mode,
            session_file: self.file().map(ToOwned::to_owned),
            session_id: self.id().to_owned(),
            session_name: self.transcript.file().name().map(ToOwned::to_owned),
            session_damage: self.transcript.damage(),
            auto_compaction: self.switches.auto_compaction,
            auto_retry: self.switches.auto_retry,
            message_count: self.transcript.messages().len(),
            pending_message_count: self.queues.len(),
            tools: self.instructions.toolbox().names(),
            working_directory: self.transcript.working_directory().to_owned(),
            context: self.context_usage(),
            instructions: None,
            todos: self.todos.list.phases(),
            extensions: self.extensions.describe(),
            sandbox: self.sandbox_summary(),
            approvals: self.approval_state(),
        })
    }

    /// Returns the text of the newest answer that has any.
    pub(super) fn last_assistant_text(&self) -> Answer {
        let answers = self.transcript.messages().iter().rev().filter_map(|message| message.as_assistant());
        let spoken = answers.filter(|answer| answer.stop_reason != StopReason::Error);
        let mut texts = spoken.map(|answer| answer.text().trim().to_owned());
        Answer::LastAssistantText(texts.find(|text| !text.is_empty()))
    }

    pub(super) fn session_statistics(&mut self, origin: Origin) {
        let (session_file, context) = (self.file().map(ToOwned::to_owned), self.context_usage());
        let count = move |file: &bowline_session::Session| statistics(file, session_file, context);
        let file = self.transcript.file();
        if file.has_statistics() {
            let result = count(file).map_err(session_unavailable);
            return self.reply(origin, result);
        }
        self.read_session(origin, move |file, _| count(file));
    }

    pub(in crate::session) fn context_usage(&self) -> Option<ContextUsage> {
        let tokens = reported_tokens(self.transcript.conversation().fresh());
        let model = self.models.current().and_then(|_| self.limiting_model())?;
        // A virtual model may not say how much it takes.
        (model.context_window > 0).then_some(ContextUsage { tokens, window: model.context_window })
    }
}

fn statistics(
    file: &bowline_session::Session,
    session_file: Option<PathBuf>,
    context: Option<ContextUsage>,
) -> Result<Answer, bowline_session::Error> {
    let figures = file.statistics()?;
    let by_model = file.statistics_by_model()?;
    Ok(Answer::Statistics(Box::new(SessionStatistics {
        session_file,
        session_id: file.id().to_owned(),
        user_messages: figures.user_messages,
        assistant_messages: figures.assistant_messages,
        tool_calls: figures.tool_calls,
        tool_results: figures.tool_results,
        total_messages: figures.total_messages,
        usage: figures.usage,
        context,
        by_model: by_model
            .into_iter()
            .map(|figures| ModelUsage {
                provider: figures.provider,
                model: figures.model,
                answers: figures.assistant_messages,
                usage: figures.usage,
            })
            .collect(),
    })))
}
