//! What an extension is told of the session: only what has changed.

use std::path::Path;
use std::sync::Arc;

use bowline_core::reply::ContextUsage;
use bowline_core::slash_command::CommandKind;
use bowline_engine::{KnownTool, Mirror, ToolSource};

use bowline_llm::Resolved;

use crate::protocol::{CommandInfo, ContextInfo, Render, ScopedModel, State, ToolInfo};

/// Returns what has changed between two states; all of it if there was none before.
pub(crate) fn changes<'mirror>(before: Option<&Mirror>, now: &'mirror Mirror) -> State<'mirror> {
    let tools = |mirror: &'mirror Mirror| mirror.all_tools.iter().map(tool).collect();
    let commands = |mirror: &'mirror Mirror| {
        let commands = mirror.commands.iter().map(|command| CommandInfo {
            name: &command.name,
            description: command.description.as_deref(),
            source: kind_name(command.kind),
            source_info: (&command.source_info).into(),
        });
        commands.collect()
    };
    let Mirror { model, session_name, session_file, leaf, context, .. } = now;
    let differs = |is_same: fn(&Mirror, &Mirror) -> bool| before.is_none_or(|before| !is_same(before, now));
    State {
        model: differs(|one, other| one.model == other.model).then_some(model.as_deref()),
        thinking_level: differs(|one, other| one.thinking_level == other.thinking_level)
            .then_some(now.thinking_level),
        scoped_models: differs(|one, other| same(&one.scoped_models, &other.scoped_models))
            .then(|| now.scoped_models.iter().map(scoped_model).collect()),
        is_idle: differs(|one, other| one.is_idle == other.is_idle).then_some(now.is_idle),
        has_pending_messages: differs(|one, other| one.has_pending_messages == other.has_pending_messages)
            .then_some(now.has_pending_messages),
        active_tools: differs(|one, other| same(&one.active_tools, &other.active_tools))
            .then_some(&*now.active_tools),
        all_tools: differs(|one, other| same(&one.all_tools, &other.all_tools)).then(|| tools(now)),
        commands: differs(|one, other| same(&one.commands, &other.commands)).then(|| commands(now)),
        session_name: differs(|one, other| one.session_name == other.session_name)
            .then_some(session_name.as_deref()),
        session_id: differs(|one, other| one.session_id == other.session_id).then_some(&now.session_id),
        session_file: differs(|one, other| one.session_file == other.session_file)
            .then_some(session_file.as_deref()),
        cwd: differs(|one, other| one.directory == other.directory).then_some(Path::new(&now.directory)),
        leaf_id: differs(|one, other| one.leaf == other.leaf).then_some(leaf.as_deref()),
        render: differs(|one, other| one.screen == other.screen)
            .then_some(now.screen.map(|screen| Render { columns: screen.columns, rows: screen.rows })),
        context_usage: differs(|one, other| one.context == other.context)
            .then(|| context.as_ref().map(context_info)),
        trusted: None,
        flags: None,
    }
}

/// Tells whether nothing has changed.
pub(crate) fn is_empty(state: &State<'_>) -> bool {
    let State {
        model,
        thinking_level,
        scoped_models,
        is_idle,
        has_pending_messages,
        active_tools,
        all_tools,
        commands,
        session_name,
        session_id,
        session_file,
        cwd,
        leaf_id,
        context_usage,
        render,
        trusted,
        flags,
    } = state;
    model.is_none()
        && thinking_level.is_none()
        && scoped_models.is_none()
        && is_idle.is_none()
        && has_pending_messages.is_none()
        && active_tools.is_none()
        && all_tools.is_none()
        && commands.is_none()
        && session_name.is_none()
        && session_id.is_none()
        && session_file.is_none()
        && cwd.is_none()
        && leaf_id.is_none()
        && context_usage.is_none()
        && render.is_none()
        && trusted.is_none()
        && flags.is_none()
}

/// Compares lists that are usually the very same.
fn same<T: PartialEq>(one: &Arc<[T]>, other: &Arc<[T]>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}

fn scoped_model(scoped: &Resolved) -> ScopedModel<'_> {
    ScopedModel { model: &scoped.model, thinking_level: scoped.thinking }
}

fn tool(known: &KnownTool) -> ToolInfo<'_> {
    let (source, extension) = match &known.source {
        ToolSource::BuiltIn => ("builtin", None),
        ToolSource::Client => ("client", None),
        ToolSource::Extension { name, .. } => ("extension", Some(&**name)),
    };
    ToolInfo {
        name: &known.definition.name,
        description: &known.definition.description,
        parameters: &known.definition.parameters,
        source,
        extension,
        source_info: known.source_info.as_ref().map(Into::into),
        prompt_guidelines: &known.guidelines,
    }
}

/// Returns the kind of a command as clients know it.
pub(crate) fn kind_name(kind: CommandKind) -> &'static str {
    match kind {
        CommandKind::Builtin => "builtin",
        CommandKind::Extension => "extension",
        CommandKind::PromptTemplate => "prompt",
        CommandKind::Skill => "skill",
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
fn context_info(usage: &ContextUsage) -> ContextInfo {
    let percent =
        usage.tokens.filter(|_| usage.window > 0).map(|tokens| tokens as f64 * 100.0 / usage.window as f64);
    ContextInfo { tokens: usage.tokens, context_window: usage.window, percent }
}
