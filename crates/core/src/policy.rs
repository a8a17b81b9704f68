//! How the agent behaves where the protocols of its clients differ. A dialect chooses; the engine obeys without
//! knowing which dialect it was.

use crate::command::{InterruptMode, QueueMode};

/// The choices of a dialect. The default is pi's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    pub prompt_answer: PromptAnswer,
    pub abort_answer: AbortAnswer,
    pub compaction_answer: CompactionAnswer,
    pub idle_queue: IdleQueue,
    pub fork_point: ForkPoint,
    pub tool_results: ToolResults,
    pub while_running: WhileRunning,
    pub undeclared_thinking: UndeclaredThinking,
    pub cut_off_answers: CutOffAnswers,
    pub order: Order,
    pub state_detail: StateDetail,
    pub questions: Questions,
    /// How many steering messages are taken at once, unless the user's settings say.
    pub steering_mode: QueueMode,
    /// The interrupt mode that a session starts with.
    pub interrupt_mode: InterruptMode,
}

/// What a question about the state is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateDetail {
    Brief,
    /// With what the model is told, which has to be put together first.
    WithInstructions,
}

/// What becomes of a question to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Questions {
    /// The dialect has no words for it: the assumed answer is taken at once.
    Assumed,
    /// The client is asked.
    Asked,
}

/// When a prompt is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptAnswer {
    /// When it arrives, before anything is known of it. A refusal is a second answer.
    OnReceipt,
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

/// When a compaction that was asked for is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionAnswer {
    /// When it is over, with what came of it.
    WhenDone,
    /// When it begins, for clients that do not wait long; the events tell what came of it.
    WhenStarted,
}

/// What a queued message does while nothing is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleQueue {
    /// It waits for the next prompt, and is taken together with it.
    Waits,
    /// It waits for the next prompt, and is taken after that prompt's first turn.
    WaitsForTurn,
    /// It starts a run.
    StartsRun,
}

/// What a fork takes along of the entry that it is made at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkPoint {
    /// The entry is a user's message, and the other session ends before it.
    BeforeUserMessage,
    /// The other session ends with the entry.
    AfterEntry,
}

/// When the result of a tool becomes a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolResults {
    /// When every tool of the turn has ended, in the order of the calls.
    AfterAll,
    /// As each tool ends.
    AsTheyEnd,
}

/// What becomes of signed thinking from a model that is not declared to reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndeclaredThinking {
    Taken,
    /// It ends the run with an error that says how to declare the model.
    Refused,
}

/// What becomes of an answer that was cut off before the model's own limit, because the window was full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutOffAnswers {
    /// The conversation is compacted and the model asked again, once for each message of the user.
    AskedAgain,
    /// It stands, and ends the run like any other.
    Kept,
}

/// Whether commands that change settings or look at the session are carried out during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhileRunning {
    Allowed,
    /// All but a compaction, which would stop the run.
    AllowedButCompaction,
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
            compaction_answer: CompactionAnswer::WhenDone,
            idle_queue: IdleQueue::Waits,
            fork_point: ForkPoint::BeforeUserMessage,
            tool_results: ToolResults::AfterAll,
            while_running: WhileRunning::Allowed,
            undeclared_thinking: UndeclaredThinking::Taken,
            cut_off_answers: CutOffAnswers::AskedAgain,
            order: Order::Concurrent,
            state_detail: StateDetail::Brief,
            questions: Questions::Assumed,
            steering_mode: QueueMode::OneAtATime,
            interrupt_mode: InterruptMode::Wait,
        }
    }
}
