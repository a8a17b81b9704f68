//! The results of hooks, with pi's names for their fields. A value of the wrong type is an error of the extension.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use bowline_core::custom_content::CustomContent;
use bowline_core::hook::{
    CustomMessageDraft, DiscoveredPaths, EntryDraft, HookEvent, HookKind, HookResult, HookRole, ShellAnswer,
    StartAdditions, SummaryDraft, ToolResultChange, TreeChange,
};
use bowline_core::message::{Arguments, Content, Message};
use bowline_core::prompt::PromptChanges;
use bowline_core::usage::Usage;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::prompt::PromptChangesRecord;

/// The most changes to a conversation in one result.
const MOST_PATCHES: usize = 10_000;

/// Whether a project is trusted. The first extension that says yes or no is the last one asked.
#[derive(Deserialize, JsonSchema)]
struct ProjectTrustResult {
    trusted: TrustAnswer,
    /// Whether the decision is recorded for later.
    #[serde(default)]
    remember: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum TrustAnswer {
    Yes,
    No,
    /// Others decide.
    Undecided,
}

/// Further places of skills and templates.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct ResourcesDiscoverResult {
    /// Relative paths start at the working directory.
    skill_paths: Option<Vec<PathBuf>>,
    prompt_paths: Option<Vec<PathBuf>>,
}

/// Whether the action is cancelled. The first extension that cancels it is the last one asked.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(default)]
struct CancelResult {
    cancel: Option<bool>,
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
#[schemars(description = "What happens to a compaction.")]
struct CompactResult {
    cancel: Option<bool>,
    /// Replaces the summary of the model.
    compaction: Option<CompactionDraft>,
}

/// A summary that an extension wrote.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CompactionDraft {
    summary: String,
    /// The first entry that is kept; that of the preparation if absent.
    first_kept_entry_id: Option<String>,
    tokens_before: Option<u64>,
    details: Option<Value>,
    usage: Option<Usage>,
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
#[schemars(description = "What happens to a move to another entry.")]
struct TreeResult {
    cancel: Option<bool>,
    /// Replaces the summary of the branch that is left.
    summary: Option<BranchSummaryDraft>,
    /// Instructions for the summary.
    custom_instructions: Option<String>,
    /// Whether the instructions take the place of the usual ones.
    replace_instructions: Option<bool>,
    /// A label for the entry that the conversation continues from.
    label: Option<String>,
}

/// The summary of a branch.
#[derive(Deserialize, JsonSchema)]
struct BranchSummaryDraft {
    summary: String,
    details: Option<Value>,
    usage: Option<Usage>,
}

/// What happens to a message of the user.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "camelCase")]
enum InputResult {
    /// It stays as it is.
    Continue,
    /// Another one takes its place.
    Transform {
        text: String,
        /// Replaces the images; absent keeps them.
        images: Option<Vec<Content>>,
    },
    /// The extension has dealt with it: no model is called.
    Handled,
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
#[schemars(description = "What is added to a prompt.")]
struct BeforeAgentStartResult {
    /// Follows the message of the user.
    message: Option<CustomMessageResult>,
    /// Several of them, instead of `message`.
    messages: Option<Vec<CustomMessageResult>>,
    /// Replaces the system prompt for this run.
    system_prompt: Option<String>,
    /// Changes parts of the system prompt for this run.
    system_prompt_options: Option<PromptChangesRecord>,
}

/// A message that an extension adds to the conversation. The model reads it as a message of the user.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CustomMessageDraft")]
pub struct CustomMessageResult {
    /// What kind of message it is, for the extension.
    custom_type: String,
    content: TextOrBlocks,
    /// Whether clients show it.
    #[serde(default)]
    display: bool,
    /// Data for the extension that the model does not see.
    details: Option<Value>,
}

/// Text, or blocks of text and images.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TextOrBlocks {
    Text(String),
    Blocks(Vec<Content>),
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
#[schemars(description = "What is added at the end of a turn or a run.")]
struct BoundaryResult {
    entries: Option<Vec<EntryDraftResult>>,
    /// Whether the model is called once more.
    r#continue: Option<bool>,
}

/// An entry to add to the session's file.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[schemars(rename = "EntryDraft")]
enum EntryDraftResult {
    /// Data that the model does not see.
    Custom { custom_type: String, data: Option<Value> },
    /// A message of the extension.
    CustomMessage {
        custom_type: String,
        content: TextOrBlocks,
        #[serde(default)]
        display: bool,
        details: Option<Value>,
    },
    /// Replaces what the model sees of an entry; `null` hides it from the model.
    ContextEdit { target_id: String, replacement: Option<ReplacementResult> },
    /// A summary of everything before an entry.
    Compaction {
        summary: String,
        /// The first entry that the model still sees; `null` for none.
        first_kept_entry_id: Option<String>,
        details: Option<Value>,
        usage: Option<Usage>,
    },
}

/// What the model sees instead of the content of an entry.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ContentReplacement")]
struct ReplacementResult {
    /// A text, or the blocks of a message of the same role.
    content: Value,
}

/// A message of the same role that takes the place of the one at its end.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(default)]
struct MessageEndResult {
    message: Option<Message>,
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(default)]
#[schemars(description = "The conversation to send instead; nothing of it is stored.")]
struct ContextResult {
    messages: Option<Vec<Message>>,
    /// The system prompt to send instead; only of `context_with_system`.
    #[serde(rename = "systemPrompt")]
    system_prompt: Option<String>,
    /// Changes to the conversation, one after the other, instead of all of it.
    patch: Option<Vec<Patch>>,
}

/// A change to a list of messages.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Patch {
    Remove {
        index: usize,
    },
    /// The index may be that after the last message.
    Insert {
        index: usize,
        message: Box<Message>,
    },
    Replace {
        index: usize,
        message: Box<Message>,
    },
}

/// Headers to set; `null` removes one.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(default)]
struct HeadersResult {
    headers: Option<BTreeMap<String, Option<String>>>,
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(default)]
#[schemars(description = "What happens to a tool call.")]
struct ToolCallResult {
    /// The tool does not run; the model reads the reason.
    block: Option<bool>,
    reason: Option<String>,
    /// Ends the run if every call of the answer was blocked in this way.
    terminate: Option<bool>,
    /// Replaces the arguments.
    input: Option<Arguments>,
}

/// What a tool's result becomes; what is absent stays.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "ToolResultResult")]
struct ToolResultResult {
    /// Takes the result as data away, too, unless there is `structuredContent` beside it.
    content: Option<Vec<Content>>,
    details: Option<Value>,
    structured_content: Option<Box<Value>>,
    is_error: Option<bool>,
    /// What the tool spent on models of its own.
    usage: Option<Usage>,
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(default)]
#[schemars(description = "What happens to a shell command of the user.")]
struct UserBashResult {
    /// The command is not run, and this is its result.
    result: Option<ShellResult>,
}

/// The result of a shell command that an extension carried out.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ShellResult {
    output: String,
    exit_code: Option<i32>,
    #[serde(default)]
    cancelled: bool,
    #[serde(default)]
    truncated: bool,
    full_output_path: Option<PathBuf>,
}

/// Describes what a hook may return; `None` if nothing.
pub(super) fn schema(hook: HookKind, generator: &mut SchemaGenerator) -> Option<Schema> {
    let describe: fn(&mut SchemaGenerator) -> Schema = match hook {
        HookKind::ProjectTrust => SchemaGenerator::subschema_for::<ProjectTrustResult>,
        HookKind::ResourcesDiscover => SchemaGenerator::subschema_for::<ResourcesDiscoverResult>,
        HookKind::SessionBeforeSwitch | HookKind::SessionBeforeFork => {
            SchemaGenerator::subschema_for::<CancelResult>
        }
        HookKind::SessionBeforeCompact => SchemaGenerator::subschema_for::<CompactResult>,
        HookKind::SessionBeforeTree => SchemaGenerator::subschema_for::<TreeResult>,
        HookKind::Input => SchemaGenerator::subschema_for::<InputResult>,
        HookKind::BeforeAgentStart => SchemaGenerator::subschema_for::<BeforeAgentStartResult>,
        HookKind::TurnEnd | HookKind::AgentBeforeSettle => SchemaGenerator::subschema_for::<BoundaryResult>,
        HookKind::MessageEnd => SchemaGenerator::subschema_for::<MessageEndResult>,
        HookKind::Context | HookKind::ContextWithSystem => SchemaGenerator::subschema_for::<ContextResult>,
        HookKind::BeforeProviderHeaders => SchemaGenerator::subschema_for::<HeadersResult>,
        HookKind::BeforeProviderRequest => SchemaGenerator::subschema_for::<Map<String, Value>>,
        HookKind::ToolCall => SchemaGenerator::subschema_for::<ToolCallResult>,
        HookKind::ToolResult => SchemaGenerator::subschema_for::<ToolResultResult>,
        HookKind::UserBash => SchemaGenerator::subschema_for::<UserBashResult>,
        _ => return None,
    };
    Some(describe(generator))
}

/// Returns what a result means. `null` means that nothing changes; what an observer returns is ignored.
pub fn parse(event: &HookEvent, value: Value) -> Result<HookResult, String> {
    let hook = event.kind();
    if value.is_null() || hook.role() != HookRole::Decides {
        return Ok(HookResult::None);
    }
    Ok(match hook {
        HookKind::ProjectTrust => {
            let ProjectTrustResult { trusted, remember } = read(hook, value)?;
            match trusted {
                TrustAnswer::Yes => HookResult::Trust { is_trusted: true, remember },
                TrustAnswer::No => HookResult::Trust { is_trusted: false, remember },
                TrustAnswer::Undecided => HookResult::None,
            }
        }
        HookKind::ResourcesDiscover => {
            let paths: ResourcesDiscoverResult = read(hook, value)?;
            let HookEvent::ResourcesDiscover { directory, .. } = event else { return Ok(HookResult::None) };
            let absolute = |paths: Option<Vec<PathBuf>>| {
                paths.unwrap_or_default().into_iter().map(|path| directory.join(path)).collect()
            };
            HookResult::Resources(DiscoveredPaths {
                skills: absolute(paths.skill_paths),
                prompts: absolute(paths.prompt_paths),
                ..DiscoveredPaths::default()
            })
        }
        HookKind::SessionBeforeSwitch | HookKind::SessionBeforeFork => {
            cancelled(read::<CancelResult>(hook, value)?.cancel).unwrap_or_default()
        }
        HookKind::SessionBeforeCompact => {
            let result: CompactResult = read(hook, value)?;
            let compaction = result.compaction.map(|draft| HookResult::Compaction(draft.into()));
            cancelled(result.cancel).or(compaction).unwrap_or_default()
        }
        HookKind::SessionBeforeTree => {
            let result: TreeResult = read(hook, value)?;
            cancelled(result.cancel).unwrap_or_else(|| {
                HookResult::Tree(TreeChange {
                    summary: result.summary.map(Into::into),
                    instructions: result.custom_instructions,
                    replaces_instructions: result.replace_instructions,
                    label: result.label,
                })
            })
        }
        HookKind::Input => match read(hook, value)? {
            InputResult::Continue => HookResult::None,
            InputResult::Transform { text, images } => HookResult::Transform { text, images },
            InputResult::Handled => HookResult::Handled,
        },
        HookKind::BeforeAgentStart => {
            let mut result: BeforeAgentStartResult = read(hook, value)?;
            let mut messages: Vec<_> = result.messages.take().unwrap_or_default().into_iter().collect();
            if !messages.is_empty() {
                result.message = Some(messages.remove(0));
            }
            let mut starts = vec![HookResult::Start(result.try_into()?)];
            let more = messages.into_iter();
            starts.extend(more.map(|message| {
                HookResult::Start(StartAdditions {
                    message: Some(message.into()),
                    ..StartAdditions::default()
                })
            }));
            HookResult::All(starts)
        }
        HookKind::TurnEnd | HookKind::AgentBeforeSettle => {
            let result: BoundaryResult = read(hook, value)?;
            let entries = result.entries.unwrap_or_default().into_iter().map(Into::into).collect();
            HookResult::Boundary { entries, continues: result.r#continue }
        }
        HookKind::MessageEnd => match read::<MessageEndResult>(hook, value)?.message {
            Some(message) => HookResult::Message(Arc::new(message)),
            None => HookResult::None,
        },
        HookKind::Context | HookKind::ContextWithSystem => {
            read::<ContextResult>(hook, value)?.apply(event)?
        }
        HookKind::BeforeProviderHeaders => match read::<HeadersResult>(hook, value)?.headers {
            Some(headers) => HookResult::Headers(headers),
            None => HookResult::None,
        },
        // Every API takes an object.
        HookKind::BeforeProviderRequest => {
            HookResult::Payload(read::<Map<String, Value>>(hook, value)?.into())
        }
        HookKind::ToolCall => read::<ToolCallResult>(hook, value)?.into(),
        HookKind::ToolResult => {
            let ToolResultResult { content, details, structured_content, is_error, usage } =
                read(hook, value)?;
            HookResult::ToolResult(ToolResultChange { content, details, structured_content, is_error, usage })
        }
        HookKind::UserBash => match read::<UserBashResult>(hook, value)?.result {
            Some(result) => HookResult::Shell(result.into()),
            None => HookResult::None,
        },
        _ => HookResult::None,
    })
}

fn read<T: DeserializeOwned>(hook: HookKind, value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| format!("invalid result of {}: {error}", hook.as_str()))
}

fn cancelled(cancel: Option<bool>) -> Option<HookResult> {
    (cancel == Some(true)).then_some(HookResult::Cancel)
}

impl ContextResult {
    fn apply(self, event: &HookEvent) -> Result<HookResult, String> {
        let (HookEvent::Context(before) | HookEvent::ContextWithSystem { messages: before, .. }) = event
        else {
            return Ok(HookResult::None);
        };
        let messages = match (self.messages, self.patch) {
            (Some(_), Some(_)) => return Err("a result has either messages or a patch".to_owned()),
            (Some(messages), None) => HookResult::Messages(messages.into_iter().map(Arc::new).collect()),
            (None, Some(patches)) => patched(before.clone(), patches).map(HookResult::Messages)?,
            (None, None) => HookResult::None,
        };
        Ok(match self.system_prompt {
            Some(prompt) => HookResult::All(vec![HookResult::SystemPrompt(prompt), messages]),
            None => messages,
        })
    }
}

fn patched(mut messages: Vec<Arc<Message>>, patches: Vec<Patch>) -> Result<Vec<Arc<Message>>, String> {
    if patches.len() > MOST_PATCHES {
        return Err(format!("a patch has at most {MOST_PATCHES} changes"));
    }
    for patch in patches {
        let (Patch::Remove { index } | Patch::Insert { index, .. } | Patch::Replace { index, .. }) = patch;
        let end = messages.len() + usize::from(matches!(patch, Patch::Insert { .. }));
        if index >= end {
            return Err(format!("a patch names message {index}, but there are only {}", messages.len()));
        }
        match patch {
            Patch::Remove { index } => drop(messages.remove(index)),
            Patch::Insert { index, message } => messages.insert(index, Arc::new(*message)),
            Patch::Replace { index, message } => messages[index] = Arc::new(*message),
        }
    }
    Ok(messages)
}

impl From<TextOrBlocks> for CustomContent {
    fn from(content: TextOrBlocks) -> Self {
        match content {
            TextOrBlocks::Text(text) => Self::text(text),
            TextOrBlocks::Blocks(blocks) => blocks.into(),
        }
    }
}

impl TextOrBlocks {
    /// Returns the blocks.
    pub fn into_blocks(self) -> Vec<Content> {
        match self {
            Self::Text(text) => vec![Content::text(text)],
            Self::Blocks(blocks) => blocks,
        }
    }
}

impl From<CustomMessageResult> for CustomMessageDraft {
    fn from(message: CustomMessageResult) -> Self {
        let CustomMessageResult { custom_type, content, display, details } = message;
        Self { custom_type, content: content.into(), display, details }
    }
}

impl TryFrom<BeforeAgentStartResult> for StartAdditions {
    type Error = String;

    fn try_from(result: BeforeAgentStartResult) -> Result<Self, String> {
        let options = result.system_prompt_options.unwrap_or_default();
        let changes = PromptChanges::try_from(options)
            .map_err(|error| format!("invalid result of before_agent_start: {error}"))?;
        let changes = Box::new(PromptChanges { forced: result.system_prompt, ..changes });
        Ok(Self { message: result.message.map(Into::into), changes })
    }
}

impl From<EntryDraftResult> for EntryDraft {
    fn from(draft: EntryDraftResult) -> Self {
        match draft {
            EntryDraftResult::Custom { custom_type, data } => Self::Custom { custom_type, data },
            EntryDraftResult::CustomMessage { custom_type, content, display, details } => {
                Self::Message(CustomMessageResult { custom_type, content, display, details }.into())
            }
            EntryDraftResult::ContextEdit { target_id, replacement } => {
                let replacement = replacement.map(|replacement| replacement.content);
                Self::ContextEdit { target: target_id, replacement }
            }
            EntryDraftResult::Compaction { summary, first_kept_entry_id, details, usage } => {
                Self::Compaction { summary, first_kept: first_kept_entry_id, details, usage }
            }
        }
    }
}

impl From<CompactionDraft> for SummaryDraft {
    fn from(draft: CompactionDraft) -> Self {
        let CompactionDraft { summary, first_kept_entry_id, tokens_before, details, usage } = draft;
        Self { summary, first_kept: first_kept_entry_id, tokens_before, details, usage }
    }
}

impl From<BranchSummaryDraft> for SummaryDraft {
    fn from(draft: BranchSummaryDraft) -> Self {
        let BranchSummaryDraft { summary, details, usage } = draft;
        Self { summary, first_kept: None, tokens_before: None, details, usage }
    }
}

impl From<ToolCallResult> for HookResult {
    fn from(result: ToolCallResult) -> Self {
        let ToolCallResult { block, reason, terminate, input } = result;
        match (block, input) {
            (Some(true), _) => Self::Block { reason, terminate: terminate.unwrap_or_default() },
            (_, Some(arguments)) => Self::Arguments { arguments, validate: false },
            (_, None) => Self::None,
        }
    }
}

impl From<ShellResult> for ShellAnswer {
    fn from(result: ShellResult) -> Self {
        let ShellResult { output, exit_code, cancelled, truncated, full_output_path } = result;
        Self { output, exit_code, cancelled, truncated, full_output_path }
    }
}
