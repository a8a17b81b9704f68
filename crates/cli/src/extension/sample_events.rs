//! An event of every hook, as a session would send it, to try extensions out.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bowline_core::Message;
use bowline_core::event::{CompactionReason, FileOperations};
use bowline_core::hook::{
    Boundary, CompactionPreparation, DiscoverReason, ForkPosition, HookEvent, HookKind, InputSource,
    ModelSource, SessionReason, TreePreparation, TurnOutcome,
};
use bowline_core::message::{Arguments, Content};
use bowline_core::model::Model;
use bowline_core::prompt::PromptParts;
use bowline_core::stream::Update;
use bowline_core::thinking::ThinkingLevel;
use bowline_core::ui::NotifyLevel;
use bowline_core::usage::Usage;
use serde_json::{Value, json};
use std::time::Duration;

/// A time, in milliseconds since the Unix epoch.
const TIMESTAMP: u64 = 1_767_225_600_000;

/// What the messages and entries of the samples have in common.
pub(super) struct Samples {
    question: Arc<Message>,
    answer: Arc<Message>,
    tool_result: Arc<Message>,
    model: Arc<Model>,
}

impl Samples {
    pub fn new() -> Result<Self, serde_json::Error> {
        let message = |value: Value| serde_json::from_value(value).map(Arc::new);
        Ok(Self {
            question: message(json!({
                "role": "user", "content": [{ "type": "text", "text": "What is in this folder?" }],
                "timestamp": TIMESTAMP,
            }))?,
            answer: message(json!({
                "role": "assistant",
                "content": [
                    { "type": "text", "text": "Let me look." },
                    { "type": "toolCall", "id": "call_1", "name": "bash", "arguments": { "command": "ls -la" } },
                ],
                "api": "openai-completions", "provider": "sample", "model": "sample-1", "stopReason": "toolUse",
                "timestamp": TIMESTAMP,
            }))?,
            tool_result: message(json!({
                "role": "toolResult", "toolCallId": "call_1", "toolName": "bash",
                "content": [{ "type": "text", "text": "README.md\n" }], "isError": false, "timestamp": TIMESTAMP,
            }))?,
            model: Arc::new(serde_json::from_value(json!({
                "id": "sample-1", "name": "Sample", "api": "openai-completions", "provider": "sample",
                "baseUrl": "http://localhost:1/v1", "reasoning": false, "input": ["text"],
                "cost": { "input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0 },
                "contextWindow": 128_000, "maxTokens": 8192,
            }))?),
        })
    }

    /// Returns the model of the samples.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Returns the conversation of the samples.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        vec![Arc::clone(&self.question), Arc::clone(&self.answer), Arc::clone(&self.tool_result)]
    }

    /// Returns events of a hook; those about tools for the tools that `takes` accepts.
    pub fn of(&self, hook: HookKind, directory: &Path, takes: impl Fn(&str) -> bool) -> Vec<HookEvent> {
        let calls = || CALLS.iter().filter(|(tool, _, _)| takes(tool));
        match hook {
            HookKind::ToolCall => calls()
                .map(|(tool, name, value)| HookEvent::ToolCall {
                    call_id: "call_1".to_owned(),
                    tool: (*tool).to_owned(),
                    arguments: arguments(name, value),
                })
                .collect(),
            HookKind::ToolResult => {
                let events = calls().map(|(tool, name, value)| HookEvent::ToolResult {
                    call_id: "call_1".to_owned(),
                    tool: (*tool).to_owned(),
                    arguments: arguments(name, value),
                    content: output(),
                    details: None,
                    structured_content: None,
                    usage: None,
                    is_error: false,
                });
                events.take(1).collect()
            }
            HookKind::ToolExecutionStart | HookKind::ToolExecutionUpdate | HookKind::ToolExecutionEnd => {
                calls().take(1).map(|(tool, name, value)| execution(hook, tool, name, value)).collect()
            }
            _ => self.other(hook, directory).into_iter().collect(),
        }
    }

    /// Returns the event of a hook that is not about tools.
    fn other(&self, hook: HookKind, directory: &Path) -> Option<HookEvent> {
        Some(match hook {
            HookKind::ProjectTrust => HookEvent::ProjectTrust { directory: directory.to_owned() },
            HookKind::ResourcesDiscover => HookEvent::ResourcesDiscover {
                directory: directory.to_owned(),
                reason: DiscoverReason::Startup,
            },
            HookKind::SessionStart => {
                HookEvent::SessionStart { reason: SessionReason::Startup, previous_file: None }
            }
            HookKind::SessionInfoChanged => {
                HookEvent::SessionInfoChanged { name: Some("a sample".to_owned()) }
            }
            HookKind::SessionBeforeSwitch => {
                HookEvent::SessionBeforeSwitch { reason: SessionReason::New, target: None }
            }
            HookKind::SessionBeforeFork => {
                HookEvent::SessionBeforeFork { entry: "00000001".to_owned(), position: ForkPosition::Before }
            }
            HookKind::SessionBeforeCompact => {
                HookEvent::SessionBeforeCompact(Box::new(self.compaction_preparation()))
            }
            HookKind::SessionCompact => HookEvent::SessionCompact {
                entry: entry("compaction", &json!({ "summary": "They looked into a folder." })),
                from_extension: false,
                reason: CompactionReason::Manual,
                will_retry: false,
            },
            HookKind::SessionCompactFailed => HookEvent::SessionCompactFailed {
                reason: CompactionReason::Manual,
                error: Some("a sample of an error".to_owned()),
                aborted: false,
                will_retry: false,
                from_extension: false,
            },
            HookKind::SessionBeforeTree => HookEvent::SessionBeforeTree(Box::new(TreePreparation {
                target: "00000001".to_owned(),
                old_leaf: Some("00000003".into()),
                abandoned: self.messages(),
                wants_summary: true,
                instructions: None,
            })),
            HookKind::SessionTree => HookEvent::SessionTree {
                new_leaf: Some("00000001".into()),
                old_leaf: Some("00000003".into()),
                summary_entry: None,
                from_extension: false,
            },
            HookKind::SessionShutdown => {
                HookEvent::SessionShutdown { reason: SessionReason::Quit, target: None }
            }
            HookKind::UserBash => HookEvent::UserBash {
                command: "ls".to_owned(),
                exclude_from_context: false,
                directory: directory.to_owned(),
            },
            HookKind::ModelSelect => HookEvent::ModelSelect {
                model: Arc::clone(&self.model),
                previous: None,
                source: ModelSource::Set,
            },
            HookKind::ThinkingLevelSelect => {
                HookEvent::ThinkingLevelSelect { level: ThinkingLevel::High, previous: ThinkingLevel::Off }
            }
            HookKind::UiPromptStart => {
                HookEvent::UiPromptStart { kind: "confirm", title: "A sample".to_owned() }
            }
            HookKind::UiPromptEnd => HookEvent::UiPromptEnd { kind: "confirm", title: "A sample".to_owned() },
            HookKind::UiNotify => {
                HookEvent::UiNotify { message: "A sample".to_owned(), level: Some(NotifyLevel::Info) }
            }
            _ => return self.of_run(hook, directory),
        })
    }

    /// Returns the event of a hook that happens during a run.
    fn of_run(&self, hook: HookKind, directory: &Path) -> Option<HookEvent> {
        let boundary = Boundary { can_continue: true, ..Boundary::default() };
        Some(match hook {
            HookKind::Input => HookEvent::Input {
                text: "What is in this folder?".to_owned(),
                images: Vec::new(),
                source: InputSource::Rpc,
                streaming_behavior: None,
            },
            HookKind::BeforeAgentStart => HookEvent::BeforeAgentStart {
                prompt: "What is in this folder?".to_owned(),
                images: Vec::new(),
                message: None,
                system_prompt: "You are a coding agent.".into(),
                parts: Arc::new(PromptParts {
                    directory: directory.to_owned(),
                    selected_tools: ["read", "bash", "edit", "write"].map(ToOwned::to_owned).into(),
                    ..PromptParts::default()
                }),
                changes: Box::default(),
            },
            HookKind::AgentStart => HookEvent::AgentStart,
            HookKind::AgentEnd => HookEvent::AgentEnd { messages: self.messages() },
            HookKind::TurnStart => HookEvent::TurnStart { index: 0, timestamp: TIMESTAMP },
            HookKind::TurnEnd => HookEvent::TurnEnd {
                index: 0,
                message: Arc::clone(&self.answer),
                tool_results: vec![Arc::clone(&self.tool_result)],
                message_entry: Some("00000002".into()),
                tool_result_entries: vec!["00000003".into()],
                outcome: TurnOutcome::Completed,
                boundary,
            },
            HookKind::AgentBeforeSettle => {
                HookEvent::AgentBeforeSettle { outcome: TurnOutcome::Completed, boundary }
            }
            HookKind::AgentSettled => HookEvent::AgentSettled { aborted: false },
            HookKind::MessageStart => HookEvent::MessageStart(Arc::clone(&self.question)),
            HookKind::MessageUpdate => HookEvent::MessageUpdate {
                usage: Usage::default(),
                update: Update::TextDelta { content_index: 0, delta: "Let me".to_owned() },
            },
            HookKind::MessageEnd => HookEvent::MessageEnd(Arc::clone(&self.answer)),
            HookKind::Context => HookEvent::Context(self.messages()),
            HookKind::ContextWithSystem => HookEvent::ContextWithSystem {
                system_prompt: "You are a coding agent.".into(),
                messages: self.messages(),
            },
            HookKind::BeforeProviderHeaders => {
                let headers = [("content-type", "application/json"), ("user-agent", "bowline")];
                HookEvent::BeforeProviderHeaders(owned(&headers))
            }
            HookKind::BeforeProviderRequest => HookEvent::BeforeProviderRequest(json!({
                "model": "sample-1",
                "messages": [{ "role": "user", "content": "What is in this folder?" }],
                "stream": true,
            })),
            HookKind::AfterProviderResponse => HookEvent::AfterProviderResponse {
                status: 200,
                headers: owned(&[("content-type", "text/event-stream")]),
            },
            HookKind::ProviderStreamEvent => HookEvent::ProviderStreamEvent {
                model: Arc::clone(self.model()),
                data: json!({ "type": "content_block_delta", "index": 0 }),
            },
            // That of trust comes before there are sessions; the others are not of a run.
            _ => return None,
        })
    }

    fn compaction_preparation(&self) -> CompactionPreparation {
        CompactionPreparation {
            first_kept: "00000003".into(),
            messages: self.messages(),
            turn_prefix: Vec::new(),
            tokens_before: 100_000,
            previous_summary: None,
            files: FileOperations { read: vec!["README.md".to_owned()], ..FileOperations::default() },
            reserve_tokens: 16_384,
            keep_recent_tokens: 20_000,
            instructions: None,
            reason: CompactionReason::Manual,
            will_retry: false,
        }
    }
}

/// Calls of tools: the tool, the name of an argument, and its value. What guards tools has something to object to.
const CALLS: &[(&str, &str, &str)] = &[
    ("bash", "command", "ls -la"),
    ("bash", "command", "rm -rf build"),
    ("read", "path", "README.md"),
    ("write", "path", "notes.txt"),
    ("write", "path", ".env"),
    ("edit", "path", "README.md"),
    ("grep", "pattern", "TODO"),
    ("find", "pattern", "*.md"),
    ("ls", "path", "."),
];

fn execution(hook: HookKind, tool: &str, name: &str, value: &str) -> HookEvent {
    let (call_id, tool) = ("call_1".to_owned(), tool.to_owned());
    match hook {
        HookKind::ToolExecutionStart => {
            HookEvent::ToolExecutionStart { call_id, tool, arguments: arguments(name, value) }
        }
        HookKind::ToolExecutionUpdate => HookEvent::ToolExecutionUpdate {
            call_id,
            tool,
            arguments: arguments(name, value),
            content: output(),
            details: None,
        },
        _ => HookEvent::ToolExecutionEnd {
            call_id,
            tool,
            content: output(),
            details: None,
            structured_content: None,
            usage: None,
            is_error: false,
            duration: Duration::from_millis(12),
        },
    }
}

fn arguments(name: &str, value: &str) -> Arc<Arguments> {
    let mut arguments = Arguments::default();
    arguments.insert(name.to_owned(), value.into());
    Arc::new(arguments)
}

fn output() -> Vec<Content> {
    vec![Content::text("README.md\n".to_owned())]
}

fn entry(kind: &str, more: &Value) -> Arc<str> {
    let mut entry = json!({ "type": kind, "id": "00000004", "parentId": "00000003", "timestamp": "2026-01-01T00:00:00.000Z" });
    if let (Some(entry), Some(more)) = (entry.as_object_mut(), more.as_object()) {
        entry.extend(more.clone());
    }
    entry.to_string().into()
}

fn owned(headers: &[(&str, &str)]) -> BTreeMap<String, String> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hook_has_a_sample() {
        let samples = Samples::new().unwrap();
        for hook in HookKind::ALL {
            let events = samples.of(*hook, Path::new("/project"), |_| true);
            assert!(!events.is_empty(), "{hook:?}");
            assert!(events.iter().all(|event| event.kind() == *hook), "{hook:?}");
        }
    }
}
