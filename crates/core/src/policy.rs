//! Behaviour in which the protocols differ. A dialect chooses; the engine follows without knowing the dialect.

use crate::command::{InterruptMode, QueueMode};
use crate::thinking::ThinkingBudgets;

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
    pub while_compacting: WhileCompacting,
    pub undeclared_thinking: UndeclaredThinking,
    pub undeclared_levels: UndeclaredLevels,
    pub truncated_answers: TruncatedAnswers,
    pub slash_commands: SlashCommands,
    pub order: Order,
    pub state_detail: StateDetail,
    pub questions: Questions,
    pub approvals: Approvals,
    pub host_tool_names: HostToolNames,
    pub advice: Advice,
    pub end_of_input: EndOfInput,
    pub stream_rules: StreamRules,
    pub todos: Todos,
    /// How many steering messages are delivered at once, unless the settings say.
    pub steering_mode: QueueMode,
    /// The interrupt mode that a session starts with.
    pub interrupt_mode: InterruptMode,
    /// How long models think, unless the settings say.
    pub thinking_budgets: ThinkingBudgets,
}

/// What the reply to a query of the state contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateDetail {
    Brief,
    /// Also the system prompt and the tools.
    WithInstructions,
}

/// How questions to the user are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Questions {
    /// The dialect cannot ask: the default answer is taken at once.
    Assumed,
    /// The client is asked.
    Asked,
}

/// How questions about tool calls are handled, once the user wants to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approvals {
    /// Like all other questions.
    AsQuestions,
    /// The client is asked, although it is asked nothing else.
    Asked,
}

/// Which names the tools of a client may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostToolNames {
    /// Also those of built-in tools, which they replace.
    MayReplaceBuiltIn,
    /// Only names that no tool has.
    MustBeNew,
}

/// What the texts of refused prompts advise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Also commands of pi: queueing the message, choosing another model.
    WithCommands,
    /// Nothing that needs a command, in dialects that have none of these.
    WithoutCommands,
}

/// What the end of the client's input does to what is in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndOfInput {
    /// It is aborted.
    Aborts,
    /// It is finished first, as are the commands that wait.
    Finishes,
}

/// Whether rules watch what the model writes, unless the settings say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamRules {
    Watched,
    Ignored,
}

/// Whether the model keeps a list of tasks, unless the settings say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Todos {
    Kept,
    None,
}

/// When a prompt is replied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptAnswer {
    /// When it arrives, before it is checked. A refusal is a second reply.
    OnReceipt,
    /// When it is admitted, before its run starts.
    OnAdmission,
    /// When its run is over.
    OnSettled,
}

/// When an abort is replied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbortAnswer {
    /// When the run is over.
    OnSettled,
    /// At once, before the run's last events.
    AtOnce,
}

/// When a user-initiated compaction is replied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionAnswer {
    /// When it is over, with its result.
    WhenDone,
    /// When it starts, for clients with short time-outs; events report the result.
    WhenStarted,
}

/// What a queued message does while nothing is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleQueue {
    /// It waits for the next prompt and is delivered with it.
    Waits,
    /// It waits for the next prompt and is delivered after that prompt's first turn.
    WaitsForTurn,
    /// It starts a run.
    StartsRun,
}

/// Where a fork ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkPoint {
    /// Before the entry, which is a user's message.
    BeforeUserMessage,
    /// After the entry.
    AfterEntry,
}

/// When the result of a tool call becomes a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolResults {
    /// When every tool of the turn has ended, in the order of the calls.
    AfterAll,
    /// As each tool ends.
    AsTheyEnd,
}

/// How signed thinking from a model that is not declared to reason is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndeclaredThinking {
    Taken,
    /// It ends the run with an error that says how to declare the model.
    Refused,
}

/// How a thinking level is handled that a client sets for a model which the user described without reasoning. A model of
/// the catalog that does not reason is known not to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndeclaredLevels {
    /// The level is fitted to the model: it stays off.
    Fitted,
    /// The client declares the model to reason: the level is sent.
    Declare,
}

/// What a prompt such as `/compact` does, which names something that the agent itself can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlashCommands {
    /// It goes to the model like any other text.
    Sent,
    /// The agent does it, and the model is not called.
    CarriedOut,
    /// The same, but for what leaves the session; files can be restored, too.
    CarriedOutInSession,
}

/// How an answer is handled that was truncated before the model's own limit because the window was full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruncatedAnswers {
    /// The conversation is compacted and the model called again, once for each message of the user.
    Retried,
    /// It is kept and ends the run like any other.
    Kept,
}

/// Whether commands that change settings or query the session are carried out during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhileRunning {
    Allowed,
    /// All but compaction, which would stop the run.
    AllowedButCompaction,
    Refused,
}

/// What happens to commands during a compaction that the user asked for. An abort ends it in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhileCompacting {
    /// Prompts are refused, and queued messages wait for the next one.
    PromptsRefused,
    /// Messages wait until it is over, and so does whatever follows them, but for queries of the state.
    MessagesWait,
    /// Every command waits until it is over.
    EverythingWaits,
}

/// The order in which commands are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Each when it arrives, beside whatever is in progress.
    Concurrent,
    /// One after the other; only cancelling commands overtake.
    OneAtATime,
}

impl Policy {
    /// Tells whether the client is asked what extensions want to know.
    pub fn asks_questions(&self) -> bool {
        self.questions == Questions::Asked
    }

    /// Tells whether the client is asked about tool calls.
    pub fn asks_about_calls(&self) -> bool {
        self.asks_questions() || self.approvals == Approvals::Asked
    }
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
            while_compacting: WhileCompacting::PromptsRefused,
            undeclared_thinking: UndeclaredThinking::Taken,
            undeclared_levels: UndeclaredLevels::Fitted,
            truncated_answers: TruncatedAnswers::Retried,
            slash_commands: SlashCommands::Sent,
            order: Order::Concurrent,
            state_detail: StateDetail::Brief,
            questions: Questions::Assumed,
            approvals: Approvals::AsQuestions,
            host_tool_names: HostToolNames::MayReplaceBuiltIn,
            advice: Advice::WithCommands,
            end_of_input: EndOfInput::Aborts,
            stream_rules: StreamRules::Ignored,
            todos: Todos::None,
            steering_mode: QueueMode::OneAtATime,
            interrupt_mode: InterruptMode::Wait,
            thinking_budgets: ThinkingBudgets::default(),
        }
    }
}
