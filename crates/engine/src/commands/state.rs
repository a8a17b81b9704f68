//! Questions about the state of the agent.

use bowline_core::command::Queue;
use bowline_core::message::StopReason;
use bowline_core::policy::StateDetail;
use bowline_core::reply::{
    Answer, ContextUsage, Instructions, ModelUsage, Refusal, RefusalCode, SessionStatistics, State,
};

use crate::engine::Engine;
use crate::estimate::reported_tokens;

impl Engine {
    pub(crate) fn state(&mut self) -> Answer {
        let wants_instructions = self.policy.state_detail == StateDetail::WithInstructions;
        let instructions = wants_instructions
            .then(|| Instructions { system_prompt: self.system_prompt(), tools: self.tool_definitions() });
        Answer::State(Box::new(State {
            model: self.model.clone(),
            thinking_level: self.thinking_level,
            is_streaming: self.run.is_some(),
            is_compacting: self.is_occupied(),
            steering_mode: self.queues.mode(Queue::Steering),
            follow_up_mode: self.queues.mode(Queue::FollowUp),
            interrupt_mode: self.interrupt_mode,
            session_file: self.session.file().map(ToOwned::to_owned),
            session_id: self.session.id().to_owned(),
            session_name: self.session.name().map(ToOwned::to_owned),
            auto_compaction: self.settings.auto_compaction,
            auto_retry: self.settings.retry.enabled,
            message_count: self.conversation.messages().len(),
            pending_message_count: self.queues.len(),
            tools: self.tool_names(),
            working_directory: self.session.working_directory().to_owned(),
            context: self.context_usage(),
            instructions,
        }))
    }

    /// Returns the text of the newest answer that has any.
    pub(crate) fn last_assistant_text(&self) -> Answer {
        let answers = self.conversation.messages().iter().rev().filter_map(|message| message.as_assistant());
        let spoken = answers.filter(|answer| answer.stop_reason != StopReason::Error);
        let mut texts = spoken.map(|answer| answer.text().trim().to_owned());
        Answer::LastAssistantText(texts.find(|text| !text.is_empty()))
    }

    pub(crate) fn session_statistics(&self) -> Result<Answer, Refusal> {
        let figures = self
            .session
            .statistics()
            .map_err(|error| Refusal::new(RefusalCode::StorageFailed, error.to_string()))?;
        let by_model = self
            .session
            .statistics_by_model()
            .map_err(|error| Refusal::new(RefusalCode::StorageFailed, error.to_string()))?;
        Ok(Answer::Statistics(Box::new(SessionStatistics {
            session_file: self.session.file().map(ToOwned::to_owned),
            session_id: self.session.id().to_owned(),
            user_messages: figures.user_messages,
            assistant_messages: figures.assistant_messages,
            tool_calls: figures.tool_calls,
            tool_results: figures.tool_results,
            total_messages: figures.total_messages,
            usage: figures.usage,
            context: self.context_usage(),
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

    fn context_usage(&self) -> Option<ContextUsage> {
        let tokens = reported_tokens(self.conversation.fresh());
        self.model.as_ref().map(|model| ContextUsage { tokens, window: model.context_window })
    }
}
