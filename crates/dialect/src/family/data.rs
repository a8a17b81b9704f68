//! The `data` of success responses as in `pi`; a dialect may replace it for some commands.

use std::borrow::Cow;
use std::path::Path;

use bowline_core::file_changes::{ChangesReport, RestoreReport};
use bowline_core::limits::LimitsReport;
use bowline_core::model::Model;
use bowline_core::pending_changes::{AcceptReport, DiscardReport, PendingReport};
use bowline_core::reply::{
    Answer, CancelledChange, ContextUsage, Disposition, FlatNode, ForkMessage, ModelUsage, SessionStatistics,
    SessionSummary, ShellResult, State,
};
use bowline_core::sandbox::{SandboxReport, SandboxSummary};
use bowline_core::slash_command::{CommandKind, SlashCommand};
use serde::Serialize;
use serde_json::value::RawValue;

use super::answers::{
    Accepted, Commands, CommonState, ContextUsageRecord, CycledModel, Entries, Exported, FlatNodeRecord,
    ForkMessageRecord, ForkMessages, Forked, LastText, Level, Levels, Messages, MessagesPage,
    ModelUsageRecord, Models, Navigated, Queues, Roots, SessionDamageRecord, SessionRecord, Sessions,
    ShellResultRecord, SlashCommandRecord, StateRecord, StatisticsRecord, Switched, Todos, TokensRecord,
    Tree, Written,
};
use super::completions::Completions;
use super::extensions;
use super::host::{HostToolNames, UriSchemes};
use super::logins::{LoggedIn, LoginProviders};
use super::records::CompactionRecord;
use super::state_cache::{self, StateCache};
use super::subagents::{SubagentMessagesRecord, Subagents, SubscriptionRecord};

/// The `data` of a success response.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Data<'reply> {
    Nothing,
    Accepted(Accepted),
    Queues(Queues<'reply>),
    State(&'reply RawValue),
    Messages(Messages<'reply>),
    MessagesPage(MessagesPage<'reply>),
    Commands(Commands<'reply>),
    Completions(Completions<'reply>),
    Model(&'reply Model),
    CycledModel(CycledModel<'reply>),
    Models(Models<'reply>),
    Level(Level),
    Levels(Levels<'reply>),
    Shell(ShellResultRecord<'reply>),
    Switched(Switched),
    Statistics(StatisticsRecord<'reply>),
    LastText(LastText<'reply>),
    Compacted(CompactionRecord<'reply>),
    Forked(Forked<'reply>),
    ForkMessages(ForkMessages<'reply>),
    Entries(Entries<'reply>),
    Tree(Tree<'reply>),
    Navigated(Navigated<'reply>),
    LoginProviders(LoginProviders<'reply>),
    LoggedIn(LoggedIn<'reply>),
    Written(Written<'reply>),
    Sessions(Sessions<'reply>),
    Exported(Exported<'reply>),
    Subscription(SubscriptionRecord),
    Subagents(Subagents<'reply>),
    SubagentMessages(SubagentMessagesRecord<'reply>),
    HostTools(HostToolNames<'reply>),
    UriSchemes(UriSchemes<'reply>),
    Todos(Todos<'reply>),
    Sandbox(&'reply SandboxReport),
    SandboxChanged(SandboxSummary),
    Limits(&'reply LimitsReport),
    Changes(&'reply ChangesReport),
    Restored(&'reply RestoreReport),
    PendingChanges(&'reply PendingReport),
    ChangesAccepted(&'reply AcceptReport),
    ChangesDiscarded(&'reply DiscardReport),
}

/// Returns the `data` of a success response: absent, `null` or an object, as in pi.
pub(crate) fn data<'reply>(answer: &'reply Answer, cache: &'reply mut StateCache) -> Option<Data<'reply>> {
    Some(match answer {
        Answer::Done | Answer::ThinkingLevelSet(_) => return None,
        Answer::Accepted(disposition) => Data::Accepted(Accepted {
            disposition: match disposition {
                Disposition::Started => "started",
                Disposition::Queued => "queued",
                Disposition::Handled => "handled",
            },
        }),
        // Only dialects with several sessions, or whose prompts are answered when their run ends, receive these.
        Answer::RunOver(_) | Answer::SessionOpened { .. } => return None,
        Answer::LoginProviders(providers) => Data::LoginProviders(LoginProviders::new(providers)),
        Answer::LoggedIn { provider } => Data::LoggedIn(LoggedIn { provider_id: provider }),
        Answer::Cleared { steering, follow_up } => Data::Queues(Queues { steering, follow_up }),
        Answer::State(state) => {
            Data::State(cache.whole(state, |cache| state_cache::json(&state_record(state, cache))))
        }
        Answer::Messages(messages) => Data::Messages(Messages { messages }),
        Answer::MessagesPage(page) => Data::MessagesPage(MessagesPage {
            messages: &page.messages,
            next_cursor: page.next_cursor.as_deref(),
            total_messages: page.total,
        }),
        Answer::Commands(commands) => {
            Data::Commands(Commands { commands: commands.iter().filter_map(slash_command).collect() })
        }
        Answer::Completions(completions) => Data::Completions(Completions::new(completions)),
        Answer::Model(model) => Data::Model(model),
        Answer::CycledModel(None) | Answer::CycledThinkingLevel(None) => Data::Nothing,
        Answer::CycledModel(Some(cycled)) => Data::CycledModel(CycledModel {
            model: &cycled.model,
            thinking_level: cycled.thinking_level,
            is_scoped: cycled.is_scoped,
        }),
        Answer::Models(models) => Data::Models(Models { models }),
        Answer::CycledThinkingLevel(Some(level)) => Data::Level(Level { level: *level }),
        Answer::ThinkingLevels(levels) => Data::Levels(Levels { levels }),
        Answer::Shell(result) => Data::Shell(shell_result(result)),
        Answer::SessionSwitched => Data::Switched(Switched { cancelled: false }),
        Answer::Cancelled(CancelledChange::Switch) => Data::Switched(Switched { cancelled: true }),
        Answer::Cancelled(CancelledChange::Fork) => Data::Forked(Forked { text: "", cancelled: true }),
        Answer::Cancelled(CancelledChange::Navigation) => {
            Data::Navigated(Navigated { leaf_id: None, text: None, summary_entry_id: None, cancelled: true })
        }
        Answer::Statistics(statistics) => Data::Statistics(statistics_record(statistics)),
        Answer::LastAssistantText(text) => Data::LastText(LastText { text: text.as_deref() }),
        Answer::Compacted(result) => Data::Compacted((&**result).into()),
        Answer::Forked { text } => Data::Forked(Forked { text, cancelled: false }),
        Answer::ForkMessages(messages) => {
            Data::ForkMessages(ForkMessages { messages: messages.iter().map(fork_message).collect() })
        }
        Answer::Entries { entries, leaf } => Data::Entries(Entries { entries, leaf_id: leaf.as_deref() }),
        Answer::Tree { roots, is_split, leaf } => Data::Tree(Tree {
            tree: Roots::Nested(roots),
            is_split: *is_split,
            nodes: None,
            leaf_id: leaf.as_deref(),
        }),
        Answer::FlatTree { nodes, leaf } => Data::Tree(Tree {
            tree: Roots::None([]),
            is_split: false,
            nodes: Some(nodes.iter().map(flat_node).collect()),
            leaf_id: leaf.as_deref(),
        }),
        Answer::Navigated(navigated) => Data::Navigated(Navigated {
            leaf_id: navigated.leaf.as_deref(),
            text: navigated.text.as_deref(),
            summary_entry_id: navigated.summary_entry.as_deref(),
            cancelled: false,
        }),
        Answer::Written { entry } => Data::Written(Written { entry_id: entry }),
        Answer::Sessions(page) => Data::Sessions(Sessions {
            sessions: page.sessions.iter().map(session_record).collect(),
            next_cursor: page.next_cursor.as_deref(),
        }),
        Answer::Exported { path } => Data::Exported(Exported { path: path.to_string_lossy() }),
        Answer::SubagentSubscription(level) => {
            Data::Subscription(SubscriptionRecord { level: level.as_str() })
        }
        Answer::Subagents(subagents) => Data::Subagents(Subagents {
            subagents: subagents.iter().map(|subagent| (&**subagent).into()).collect(),
        }),
        Answer::SubagentMessages(part) => Data::SubagentMessages(part.into()),
        Answer::HostTools(names) => Data::HostTools(HostToolNames { tool_names: names }),
        Answer::UriSchemes(schemes) => Data::UriSchemes(UriSchemes { schemes }),
        Answer::Sandbox(report) => Data::Sandbox(report),
        Answer::SandboxChanged(summary) => Data::SandboxChanged(*summary),
        Answer::Limits(report) => Data::Limits(report),
        Answer::Todos(phases) => Data::Todos(Todos { todo_phases: phases }),
        Answer::Changes(report) => Data::Changes(report),
        Answer::FilesRestored(restored) => Data::Restored(&restored.report),
        Answer::PendingChanges(report) => Data::PendingChanges(report),
        Answer::ChangesAccepted(report) => Data::ChangesAccepted(report),
        Answer::ChangesDiscarded(report) => Data::ChangesDiscarded(report),
    })
}

/// Returns the record of a command; bowline's own are not part of this protocol.
fn slash_command(command: &SlashCommand) -> Option<SlashCommandRecord<'_>> {
    Some(SlashCommandRecord {
        name: &command.name,
        description: command.description.as_deref(),
        has_completion: command.has_completion.then_some(true),
        source: match command.kind {
            CommandKind::Builtin => return None,
            CommandKind::Extension => "extension",
            CommandKind::PromptTemplate => "prompt",
            CommandKind::Skill => "skill",
        },
        source_info: (&command.source_info).into(),
    })
}

fn flat_node(node: &FlatNode) -> FlatNodeRecord<'_> {
    FlatNodeRecord {
        entry: &node.entry,
        depth: node.depth,
        label: node.label.as_deref(),
        label_timestamp: node.label_timestamp.as_deref(),
    }
}

fn fork_message(message: &ForkMessage) -> ForkMessageRecord<'_> {
    ForkMessageRecord { entry_id: &message.entry, text: &message.text }
}

impl<'reply> CommonState<'reply> {
    pub fn new(state: &'reply State, cache: &'reply StateCache) -> Self {
        Self {
            model: cache.model(),
            thinking_level: state.thinking_level,
            is_streaming: state.is_streaming,
            is_compacting: state.is_compacting,
            steering_mode: state.steering_mode.as_str(),
            follow_up_mode: state.follow_up_mode.as_str(),
            session_file: cache.session_file(),
            session_id: cache.session_id(),
            session_name: state.session_name.as_deref(),
            auto_compaction_enabled: state.auto_compaction,
            message_count: state.message_count,
        }
    }
}

fn state_record<'reply>(state: &'reply State, cache: &'reply mut StateCache) -> StateRecord<'reply> {
    let cache = cache.update(state);
    StateRecord {
        common: CommonState::new(state, cache),
        pending_message_count: state.pending_message_count,
        auto_retry_enabled: state.auto_retry,
        session_damage: state.session_damage.map(|damage| SessionDamageRecord {
            unreadable_lines: damage.unreadable_lines,
            relinked_entries: damage.relinked_entries,
            unreadable_messages: damage.unreadable_messages,
        }),
        tools: cache.tools(),
        cwd: cache.working_directory(),
        context_usage: state.context.as_ref().map(context_usage),
        sandbox: Some(state.sandbox),
        extensions: extensions::records(&state.extensions),
        approvals: state.approvals.as_ref().map(Into::into),
    }
}

fn session_record(session: &SessionSummary) -> SessionRecord<'_> {
    SessionRecord {
        id: &session.id,
        path: session.path.to_string_lossy(),
        cwd: session.working_directory.to_string_lossy(),
        name: session.name.as_deref(),
        first_message: &session.first_message,
        message_count: session.message_count,
        created: &session.created,
        modified: session.modified,
    }
}

pub(crate) fn shell_result(result: &ShellResult) -> ShellResultRecord<'_> {
    ShellResultRecord {
        output: Cow::Borrowed(&result.output),
        exit_code: result.exit_code,
        cancelled: result.cancelled,
        truncated: result.truncated,
        full_output_path: result.full_output_path.as_deref(),
    }
}

fn statistics_record(statistics: &SessionStatistics) -> StatisticsRecord<'_> {
    let usage = &statistics.usage;
    StatisticsRecord {
        session_file: statistics.session_file.as_deref().map(Path::to_string_lossy),
        session_id: &statistics.session_id,
        user_messages: statistics.user_messages,
        assistant_messages: statistics.assistant_messages,
        tool_calls: statistics.tool_calls,
        tool_results: statistics.tool_results,
        total_messages: statistics.total_messages,
        tokens: TokensRecord {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            total: usage.input + usage.output + usage.cache_read + usage.cache_write,
        },
        cost: usage.cost.total,
        context_usage: statistics.context.as_ref().map(context_usage),
        by_model: statistics.by_model.iter().map(model_usage).collect(),
    }
}

fn model_usage(figures: &ModelUsage) -> ModelUsageRecord<'_> {
    ModelUsageRecord {
        provider: &figures.provider,
        model: &figures.model,
        assistant_messages: figures.answers,
        usage: &figures.usage,
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
pub(crate) fn context_usage(context: &ContextUsage) -> ContextUsageRecord {
    let percent = context.tokens.map(|tokens| tokens as f64 * 100.0 / context.window.max(1) as f64);
    ContextUsageRecord { tokens: context.tokens, context_window: context.window, percent }
}
