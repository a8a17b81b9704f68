//! Commands that ask about the state of the session.

use bowline_core::command::Queue;
use bowline_core::message::StopReason;
use bowline_core::policy::StateDetail;
use bowline_core::reply::{
    Answer, ContextUsage, Instructions, ModelUsage, Refusal, RefusalCode, SessionStatistics, State,
};

use crate::estimate::reported_tokens;
use crate::session::Session;

impl Session {
    pub(super) fn state(&mut self) -> Answer {
        let wants_instructions = self.agent.policy().state_detail == StateDetail::WithInstructions;
        let instructions = wants_instructions.then(|| Instructions {
            system_prompt: self.system_prompt(),
            context_files: self.context_files(),
            tools: self.instructions.definitions(),
        });
        Answer::State(Box::new(State {
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
            auto_compaction: self.switches.auto_compaction,
            auto_retry: self.switches.auto_retry,
            message_count: self.transcript.messages().len(),
            pending_message_count: self.queues.len(),
            tools: self.instructions.toolbox().names(),
            working_directory: self.transcript.working_directory().to_owned(),
            context: self.context_usage(),
            instructions,
        }))
    }

    /// Returns the text of the newest answer that has any.
    pub(super) fn last_assistant_text(&self) -> Answer {
        let answers = self.transcript.messages().iter().rev().filter_map(|message| message.as_assistant());
        let spoken = answers.filter(|answer| answer.stop_reason != StopReason::Error);
        let mut texts = spoken.map(|answer| answer.text().trim().to_owned());
        Answer::LastAssistantText(texts.find(|text| !text.is_empty()))
    }

    pub(super) fn session_statistics(&self) -> Result<Answer, Refusal> {
        let figures = self
            .transcript
            .file()
            .statistics()
            .map_err(|error| Refusal::new(RefusalCode::StorageFailed, error.to_string()))?;
        let by_model = self
            .transcript
            .file()
            .statistics_by_model()
            .map_err(|error| Refusal::new(RefusalCode::StorageFailed, error.to_string()))?;
        Ok(Answer::Statistics(Box::new(SessionStatistics {
            session_file: self.file().map(ToOwned::to_owned),
            session_id: self.id().to_owned(),
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
        let tokens = reported_tokens(self.transcript.conversation().fresh());
        self.models.current().map(|model| ContextUsage { tokens, window: model.context_window })
    }
}
