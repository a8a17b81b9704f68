//! How the agent behaves where the protocols of its clients differ. A dialect chooses; the engine obeys without
//! knowing which dialect it was.

use crate::command::InterruptMode;

/// The choices of a dialect. The default is pi's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    pub prompt_answer: PromptAnswer,
    pub abort_answer: AbortAnswer,
    pub idle_queue: IdleQueue,
    pub tool_results: ToolResults,
    pub while_running: WhileRunning,
    pub order: Order,
    /// The interrupt mode that a session starts with.
    pub interrupt_mode: InterruptMode,
}

/// When a prompt is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptAnswer {
    /// When it is admitted, before its run begins.
    OnAdmission,
    /// When its run is over.
    OnSettled,
}

/// When an abort is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbortAnswer {
    /// When the run is over.
    OnSettled,
    /// At once, before the run's last events.
    AtOnce,
}

/// What a queued message does while nothing is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleQueue {
    /// It waits for the next prompt.
    Waits,
    /// It starts a run.
    StartsRun,
}

/// When the result of a tool becomes a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolResults {
    /// When every tool of the turn has ended, in the order of the calls.
    AfterAll,
    /// As each tool ends.
    AsTheyEnd,
}

/// Whether commands that change settings or look at the session are carried out during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhileRunning {
    Allowed,
    Refused,
}

/// In which order commands are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Each as it comes, beside whatever is under way.
    Concurrent,
    /// One after the other; only what cancels overtakes.
    OneAtATime,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            prompt_answer: PromptAnswer::OnAdmission,
            abort_answer: AbortAnswer::OnSettled,
            idle_queue: IdleQueue::Waits,
            tool_results: ToolResults::AfterAll,
            while_running: WhileRunning::Allowed,
            order: Order::Concurrent,
            interrupt_mode: InterruptMode::Wait,
        }
    }
}
