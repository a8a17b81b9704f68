//! The records of events: what each hook of the engine is on the wire.

use bowline_core::command::Queue;
use bowline_core::event::{CompactionReason, FileOperations};
use bowline_core::hook::{
    Boundary, CompactionPreparation, DiscoverReason, EntryDraft, ForkPosition, HookEvent, InputSource,
    ModelSource, TreePreparation,
};
use bowline_core::ui::NotifyLevel;
use serde_json::value::RawValue;

use super::{
    BoundaryContextRecord, CompactionPreparationRecord, CompactionSettingsRecord, EntryDraftRecord,
    FileOperationsRecord, HookEventRecord, PromptOptionsRecord, ReplacementRecord, ReportRecord,
    TreePreparationRecord,
};

impl<'event> HookEventRecord<'event> {
    /// Returns the record of an event; `None` if an entry in it is not JSON, which does not happen to entries of a file.
    pub fn of(event: &'event HookEvent) -> Option<Self> {
        Some(match event {
            HookEvent::ProjectTrust { directory } => Self::ProjectTrust { cwd: directory },
            HookEvent::ResourcesDiscover { directory, reason } => Self::ResourcesDiscover {
                cwd: directory,
                reason: match reason {
                    DiscoverReason::Startup => "startup",
                    DiscoverReason::Reload => "reload",
                },
            },
            HookEvent::SessionStart { reason, previous_file } => Self::SessionStart {
                reason: reason.as_str(),
                previous_session_file: previous_file.as_deref(),
            },
            HookEvent::SessionInfoChanged { name } => Self::SessionInfoChanged { name: name.as_deref() },
            HookEvent::SessionBeforeSwitch { reason, target } => {
                Self::SessionBeforeSwitch { reason: reason.as_str(), target_session_file: target.as_deref() }
            }
            HookEvent::SessionBeforeFork { entry, position } => Self::SessionBeforeFork {
                entry_id: entry,
                position: match position {
                    ForkPosition::Before => "before",
                    ForkPosition::At => "at",
                },
            },
            HookEvent::SessionBeforeCompact(preparation) => Self::SessionBeforeCompact {
                custom_instructions: preparation.instructions.as_deref(),
                reason: preparation.reason.as_str(),
                will_retry: preparation.will_retry,
                preparation: CompactionPreparationRecord::of(preparation),
            },
            HookEvent::SessionCompact { entry, from_extension, reason, will_retry } => Self::SessionCompact {
                compaction_entry: raw(entry)?,
                from_extension: *from_extension,
                reason: CompactionReason::as_str(*reason),
                will_retry: *will_retry,
            },
            HookEvent::SessionCompactFailed { reason, error, aborted, will_retry, from_extension } => {
                Self::SessionCompactFailed {
                    reason: reason.as_str(),
                    error_message: error.as_deref(),
                    aborted: *aborted,
                    will_retry: *will_retry,
                    from_extension: *from_extension,
                }
            }
            HookEvent::SessionBeforeTree(preparation) => {
                Self::SessionBeforeTree { preparation: TreePreparationRecord::of(preparation) }
            }
            HookEvent::SessionTree { new_leaf, old_leaf, summary_entry, from_extension } => {
                Self::SessionTree {
                    new_leaf_id: new_leaf.as_deref(),
                    old_leaf_id: old_leaf.as_deref(),
                    summary_entry: summary_entry.as_deref().and_then(raw),
                    from_extension: *from_extension,
                }
            }
            HookEvent::SessionShutdown { reason, target } => {
                Self::SessionShutdown { reason: reason.as_str(), target_session_file: target.as_deref() }
            }
            HookEvent::Input { text, images, source, streaming_behavior } => Self::Input {
                text,
                images,
                source: match source {
                    InputSource::Rpc => "rpc",
                    InputSource::Extension => "extension",
                },
                streaming_behavior: streaming_behavior.map(|queue| match queue {
                    Queue::Steering => "steer",
                    Queue::FollowUp => "followUp",
                }),
            },
            HookEvent::BeforeAgentStart { prompt, images, message, system_prompt, parts, changes } => {
                Self::BeforeAgentStart {
                    prompt,
                    images,
                    message: message.as_deref(),
                    system_prompt,
                    system_prompt_options: Box::new(PromptOptionsRecord::of(parts, changes)),
                }
            }
            HookEvent::AgentStart => Self::AgentStart,
            HookEvent::AgentEnd { messages } => Self::AgentEnd { messages },
            HookEvent::TurnStart { index, timestamp } => {
                Self::TurnStart { turn_index: *index, timestamp: *timestamp }
            }
            HookEvent::TurnEnd {
                index,
                message,
                tool_results,
                message_entry,
                tool_result_entries,
                outcome,
                boundary,
            } => Self::TurnEnd {
                turn_index: *index,
                message,
                tool_results,
                message_entry_id: message_entry.as_deref(),
                tool_result_entry_ids: tool_result_entries.iter().map(|entry| &**entry).collect(),
                outcome: outcome.as_str(),
                entries: drafts(boundary),
                r#continue: boundary.continues,
                context: BoundaryContextRecord { can_continue: boundary.can_continue },
            },
            HookEvent::AgentBeforeSettle { outcome, boundary } => Self::AgentBeforeSettle {
                outcome: outcome.as_str(),
                entries: drafts(boundary),
                r#continue: boundary.continues,
                context: BoundaryContextRecord { can_continue: boundary.can_continue },
            },
            HookEvent::AgentSettled { aborted } => Self::AgentSettled { aborted: *aborted },
            HookEvent::MessageStart(message) => Self::MessageStart { message },
            HookEvent::MessageUpdate { usage, update } => {
                Self::MessageUpdate { usage, assistant_message_event: update.into() }
            }
            HookEvent::MessageEnd(message) => Self::MessageEnd { message },
            HookEvent::Context(messages) => Self::Context { messages },
            HookEvent::ContextWithSystem { system_prompt, messages } => {
                Self::ContextWithSystem { system_prompt, messages }
            }
            HookEvent::BeforeProviderHeaders(headers) => Self::BeforeProviderHeaders { headers },
            HookEvent::BeforeProviderRequest(payload) => Self::BeforeProviderRequest { payload },
            HookEvent::AfterProviderResponse { status, headers } => {
                Self::AfterProviderResponse { status: *status, headers }
            }
            HookEvent::ProviderStreamEvent { model, data } => Self::ProviderStreamEvent {
                provider: &model.provider,
                api: &model.api,
                model: &model.id,
                data,
            },
            HookEvent::ToolExecutionStart { call_id, tool, arguments } => {
                Self::ToolExecutionStart { tool_call_id: call_id, tool_name: tool, args: arguments }
            }
            HookEvent::ToolExecutionUpdate { call_id, tool, arguments, content, details } => {
                Self::ToolExecutionUpdate {
                    tool_call_id: call_id,
                    tool_name: tool,
                    args: arguments,
                    partial_result: ReportRecord {
                        content,
                        details: details.as_ref(),
                        structured_content: None,
                        usage: None,
                    },
                }
            }
            HookEvent::ToolExecutionEnd {
                call_id,
                tool,
                content,
                details,
                structured_content,
                usage,
                is_error,
                duration,
            } => Self::ToolExecutionEnd {
                tool_call_id: call_id,
                tool_name: tool,
                result: ReportRecord {
                    content,
                    details: details.as_ref(),
                    structured_content: structured_content.as_deref(),
                    usage: usage.as_deref(),
                },
                is_error: *is_error,
                duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            },
            HookEvent::ToolCall { call_id, tool, arguments } => {
                Self::ToolCall { tool_name: tool, tool_call_id: call_id, input: arguments }
            }
            HookEvent::ToolResult {
                call_id,
                tool,
                arguments,
                content,
                details,
                structured_content,
                usage,
                is_error,
            } => Self::ToolResult {
                tool_name: tool,
                tool_call_id: call_id,
                input: arguments,
                content,
                details: details.as_ref(),
                structured_content: structured_content.as_deref(),
                usage: usage.as_deref(),
                is_error: *is_error,
            },
            HookEvent::UserBash { command, exclude_from_context, directory } => {
                Self::UserBash { command, exclude_from_context: *exclude_from_context, cwd: directory }
            }
            HookEvent::ModelSelect { model, previous, source } => Self::ModelSelect {
                model,
                previous_model: previous.as_deref(),
                source: match source {
                    ModelSource::Set => "set",
                    ModelSource::Cycle => "cycle",
                    ModelSource::Restore => "restore",
                },
            },
            HookEvent::ThinkingLevelSelect { level, previous } => {
                Self::ThinkingLevelSelect { level: *level, previous_level: *previous }
            }
            HookEvent::UiPromptStart { kind, title } => {
                Self::UiPromptStart { reason: "ui_prompt", kind, title }
            }
            HookEvent::UiPromptEnd { kind, title } => Self::UiPromptEnd { reason: "ui_prompt", kind, title },
            HookEvent::UiNotify { message, level } => {
                Self::UiNotify { message, level: level.map(NotifyLevel::as_str) }
            }
        })
    }
}

impl<'event> CompactionPreparationRecord<'event> {
    fn of(preparation: &'event CompactionPreparation) -> Self {
        Self {
            first_kept_entry_id: Some(&preparation.first_kept),
            messages_to_summarize: &preparation.messages,
            turn_prefix_messages: &preparation.turn_prefix,
            is_split_turn: !preparation.turn_prefix.is_empty(),
            tokens_before: preparation.tokens_before,
            previous_summary: preparation.previous_summary.as_deref(),
            file_ops: FileOperationsRecord::of(&preparation.files),
            settings: CompactionSettingsRecord {
                reserve_tokens: preparation.reserve_tokens,
                keep_recent_tokens: preparation.keep_recent_tokens,
            },
        }
    }
}

impl<'event> TreePreparationRecord<'event> {
    fn of(preparation: &'event TreePreparation) -> Self {
        Self {
            target_id: &preparation.target,
            old_leaf_id: preparation.old_leaf.as_deref(),
            messages_to_summarize: &preparation.abandoned,
            user_wants_summary: preparation.wants_summary,
            custom_instructions: preparation.instructions.as_ref().map(|instructions| &*instructions.text),
            replace_instructions: preparation
                .instructions
                .as_ref()
                .is_some_and(|instructions| instructions.replaces_usual),
        }
    }
}

impl<'event> FileOperationsRecord<'event> {
    fn of(operations: &'event FileOperations) -> Self {
        let FileOperations { read, written, edited } = operations;
        let touched = operations.touched();
        Self { read_files: touched.read, modified_files: touched.modified, read, written, edited }
    }
}

fn drafts(boundary: &Boundary) -> Vec<EntryDraftRecord<'_>> {
    let drafts = boundary.entries.iter().map(|draft| match draft {
        EntryDraft::Custom { custom_type, data } => {
            EntryDraftRecord::Custom { custom_type, data: data.as_ref() }
        }
        EntryDraft::Message(message) => EntryDraftRecord::CustomMessage {
            custom_type: &message.custom_type,
            content: &message.content,
            display: message.display,
            details: message.details.as_ref(),
        },
        EntryDraft::ContextEdit { target, replacement } => {
            let replacement = replacement.as_ref().map(|content| ReplacementRecord { content });
            EntryDraftRecord::ContextEdit { target_id: target, replacement }
        }
        EntryDraft::Compaction { summary, first_kept, details, usage } => EntryDraftRecord::Compaction {
            summary,
            first_kept_entry_id: first_kept.as_deref(),
            details: details.as_ref(),
            usage: usage.as_ref(),
        },
    });
    drafts.collect()
}

/// Returns a line of the session's file as it is.
fn raw(line: &str) -> Option<&RawValue> {
    serde_json::from_str(line).ok()
}
