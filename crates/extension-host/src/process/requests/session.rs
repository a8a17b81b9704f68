//! What extensions ask of their session.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bowline_core::command::{Command, SummaryInstructions};
use bowline_core::policy::ForkPoint;
use bowline_core::prompt::PromptChanges;
use bowline_core::reply::{Answer, Refusal, RefusalCode};
use bowline_engine::{Extension as _, ExtensionInput, FoundTool, SessionContext, render_prompt};
use bowline_tools::{Outcome, Progress};
use serde_json::Value;
use tokio::sync::oneshot;

use super::{Asked, CANCELLED, NO_SESSION, json};
use crate::process::connection::lock;
use crate::process::mirror::kind_name;
use crate::protocol::{
    CommandBody, CompactParams, Compacted, ContextBody, EntriesParams, ExecuteToolParams, ExecutedTool,
    ForkParams, ForkPlace, NavigateParams, NewSessionParams, PromptPartsBody, SessionEntries,
    SourceInfoRecord, SwitchParams, Switched, SystemPromptBody, SystemPromptParams, ToExtension,
    ToolProgress,
};

/// How often the output of a running tool is passed on.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(50);

pub(super) async fn new(asked: &Asked<'_>, params: NewSessionParams) -> Result<Value, String> {
    change(asked, Command::NewSession { parent: params.parent_session }).await
}

pub(super) async fn fork(asked: &Asked<'_>, params: ForkParams) -> Result<Value, String> {
    let point = params.position.map(|position| match position {
        ForkPlace::Before => ForkPoint::BeforeUserMessage,
        ForkPlace::At => ForkPoint::AfterEntry,
    });
    change(asked, Command::Fork { entry: params.entry_id, point }).await
}

pub(super) async fn switch(asked: &Asked<'_>, params: SwitchParams) -> Result<Value, String> {
    change(asked, Command::SwitchSession { path: params.session_path }).await
}

pub(super) async fn navigate(asked: &Asked<'_>, params: NavigateParams) -> Result<Value, String> {
    let NavigateParams { target_id, summarize, custom_instructions, replace_instructions } = params;
    let instructions =
        custom_instructions.map(|text| SummaryInstructions { text, replaces_usual: replace_instructions });
    let command = Command::NavigateTree { entry: target_id, summarize, instructions };
    change(asked, command).await
}

/// Carries out a command that changes to another session or entry, which another extension may cancel.
async fn change(asked: &Asked<'_>, command: Command) -> Result<Value, String> {
    let cancelled = match order(asked, command).await? {
        Ok(answer) => matches!(answer, Answer::Cancelled(_)),
        Err(refusal) if refusal.code == RefusalCode::Cancelled => true,
        Err(refusal) => return Err(refusal.message),
    };
    json(&Switched { cancelled })
}

/// Asks for a reload. The answer only says that it will happen: it ends the process that asks.
pub(super) async fn reload(asked: &Asked<'_>) -> Result<Value, String> {
    let (reply, accepted) = oneshot::channel();
    send(asked, ExtensionInput::Reload { extension: asked.extension.name(), reply }).await?;
    wait(asked, accepted).await?.map_err(|refusal| refusal.message)?;
    Ok(Value::Null)
}

pub(super) async fn wait_idle(asked: &Asked<'_>) -> Result<Value, String> {
    let _pause = asked.connection.clock.pause();
    let (reply, idle) = oneshot::channel();
    send(asked, ExtensionInput::WaitIdle { reply }).await?;
    wait(asked, idle).await?;
    Ok(Value::Null)
}

pub(super) async fn entries(asked: &Asked<'_>, params: EntriesParams) -> Result<Value, String> {
    match order(asked, Command::GetEntries { since: params.since }).await? {
        Ok(Answer::Entries { entries, leaf }) => {
            let entries = entries.iter().filter_map(|entry| serde_json::from_str(entry.get()).ok()).collect();
            json(&SessionEntries { entries, leaf_id: leaf.map(|leaf| leaf.to_string()) })
        }
        Ok(_) => Err(NO_SESSION.to_owned()),
        Err(refusal) => Err(refusal.message),
    }
}

pub(super) async fn commands(asked: &Asked<'_>) -> Result<Value, String> {
    let commands = match order(asked, Command::GetCommands).await? {
        Ok(Answer::Commands(commands)) => commands,
        Ok(_) => return Err(NO_SESSION.to_owned()),
        Err(refusal) => return Err(refusal.message),
    };
    let listed = commands.iter().map(|command| CommandBody {
        name: command.name.clone(),
        description: command.description.clone(),
        source: kind_name(command.kind),
        source_info: json(&SourceInfoRecord::from(&command.source_info)).unwrap_or_default(),
    });
    json(&listed.collect::<Vec<_>>())
}

pub(super) async fn system_prompt(asked: &Asked<'_>, params: SystemPromptParams) -> Result<Value, String> {
    let context = known(asked).await?;
    if params.changes.is_empty() {
        return json(&SystemPromptBody { system_prompt: context.system_prompt.to_string() });
    }
    let mut changes = PromptChanges::default();
    for further in params.changes {
        changes.then(further.try_into()?);
    }
    json(&SystemPromptBody { system_prompt: render_prompt(&context.parts, &changes) })
}

pub(super) async fn system_prompt_options(asked: &Asked<'_>) -> Result<Value, String> {
    json(&PromptPartsBody::of(&known(asked).await?.parts))
}

/// Returns the system prompt and the conversation.
async fn known(asked: &Asked<'_>) -> Result<SessionContext, String> {
    let (reply, context) = oneshot::channel();
    send(asked, ExtensionInput::GetContext { reply }).await?;
    wait(asked, context).await
}

pub(super) async fn context(asked: &Asked<'_>) -> Result<Value, String> {
    let context = known(asked).await?;
    json(&ContextBody { system_prompt: context.system_prompt.to_string(), messages: context.messages })
}

pub(super) async fn compact(asked: &Asked<'_>, params: CompactParams) -> Result<Value, String> {
    let _pause = asked.connection.clock.pause();
    match order(asked, Command::Compact { instructions: params.custom_instructions }).await? {
        Ok(Answer::Compacted(result)) => json(&Compacted {
            summary: result.summary.clone(),
            first_kept_entry_id: Some(result.first_kept_entry.to_string()),
            tokens_before: result.tokens_before,
        }),
        Ok(_) => Ok(Value::Null),
        Err(refusal) => Err(refusal.message),
    }
}

pub(super) async fn execute_tool(asked: &Asked<'_>, params: ExecuteToolParams) -> Result<Value, String> {
    let (reply, found) = oneshot::channel();
    let builtin = params.builtin;
    send(asked, ExtensionInput::FindTool { name: params.name.clone(), builtin, reply }).await?;
    let Some(FoundTool { tool, mut context }) = wait(asked, found).await? else {
        return Err(format!("there is no tool named {}", params.name));
    };
    context.cancel = asked.cancel.clone();
    context.call_id = Some(asked.id.to_owned());
    context.progress = progress_of(asked);
    let outcome = tool.call(context, params.args).await;
    let Outcome { content, details, structured_content, usage, is_error, .. } = outcome;
    json(&ExecutedTool { content, details, structured_content, usage, is_error })
}

/// Returns what passes the output of a running tool on, the newest now and then.
fn progress_of(asked: &Asked<'_>) -> Arc<dyn Fn(Progress) + Send + Sync> {
    let (connection, id) = (Arc::clone(asked.connection), asked.id.to_owned());
    let last = Mutex::new(None::<Instant>);
    Arc::new(move |progress| {
        let mut last = lock(&last);
        if last.is_some_and(|last| last.elapsed() < PROGRESS_INTERVAL) {
            return;
        }
        *last = Some(Instant::now());
        let Progress { content, details } = progress;
        connection
            .send(&ToExtension::Progress { id: &id, partial: Box::new(ToolProgress { content, details }) });
    })
}

/// Carries out a command as a client would.
async fn order(asked: &Asked<'_>, command: Command) -> Result<Result<Answer, Refusal>, String> {
    let (reply, replied) = oneshot::channel();
    send(asked, ExtensionInput::Command { command, reply }).await?;
    wait(asked, replied).await
}

async fn send(asked: &Asked<'_>, input: ExtensionInput) -> Result<(), String> {
    let link = Arc::clone(asked.extension).link.clone();
    if link.send(input).await { Ok(()) } else { Err(NO_SESSION.to_owned()) }
}

async fn wait<T>(asked: &Asked<'_>, reply: oneshot::Receiver<T>) -> Result<T, String> {
    tokio::select! {
        reply = reply => reply.map_err(|_| NO_SESSION.to_owned()),
        () = asked.cancel.cancelled() => Err(CANCELLED.to_owned()),
    }
}
