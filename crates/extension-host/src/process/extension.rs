//! An extension that is a process, as the engine sees it.

mod offers;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use bowline_core::completion::Completion;
use bowline_core::extension_info::{ExtensionInfo, ExtensionStatus};
use bowline_core::hook::{HookEvent, HookKind, HookResult, Subscription};
use bowline_core::slash_command::Scope;
use bowline_core::ui::{ExtensionError, WidgetInput};
use bowline_dialect::write_json;
use bowline_engine::{About, CommandResult, Extension, ExtensionInput, Mirror, SessionLink};
use bowline_llm::{AddedBy, Additions};
use bowline_tools::BoxFuture;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::process::completion;
use crate::process::connection::{CallEnd, CallGuard, Connection, OpenCall, exited, lock};
use crate::process::discovery::{Found, Launch, NotLoaded};
use crate::process::host::Group;
use crate::process::mirror;
use crate::process::pipe::Told;
use crate::process::plan::Plan;
use crate::process::registration::Registered;
use crate::protocol::{self, HookEventRecord, State as StateRecord, ToExtension};

pub(crate) use offers::Listing;

/// The longest text of an error that is passed on, in characters.
const LONGEST_ERROR: usize = 4000;

/// An extension that is a process.
pub(crate) struct ProcessExtension {
    pub plan: Arc<Plan>,
    pub found: Found,
    pub launch: Launch,
    pub about: About,
    pub link: SessionLink,
    /// The extensions of the same session.
    pub group: Weak<Group>,
    /// Its path.
    name: Arc<str>,
    /// Its short name.
    id: Arc<str>,
    state: Mutex<State>,
    /// The providers that it has added.
    additions: Additions,
}

#[derive(Debug, Default)]
struct State {
    /// The process, once it has registered.
    connection: Option<Arc<Connection>>,
    registered: Registered,
    /// What the engine last said of the session.
    mirror: Option<Arc<Mirror>>,
    status: ExtensionStatus,
}

impl ProcessExtension {
    pub fn new(
        plan: Arc<Plan>,
        found: Found,
        launch: Launch,
        about: About,
        link: SessionLink,
        group: Weak<Group>,
    ) -> Self {
        let name: Arc<str> = found.path.to_string_lossy().into();
        let id = found.name.as_str().into();
        let by = if is_of_user(&found) { AddedBy::User } else { AddedBy::Project };
        let additions = about.providers.additions(by);
        let mut state = State::default();
        if launch.is_guard || about.guards.contains(&name) {
            // It guards tools until it says otherwise: it was declared to, or did so before it was started anew.
            state.registered = Registered::of_guard();
        }
        Self { plan, found, launch, about, link, group, name, id, state: Mutex::new(state), additions }
    }

    /// Returns the short name.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Gives it another short name.
    pub fn rename(&mut self, id: &str) {
        self.id = id.into();
    }

    /// Tells whether the user put it there, so that it may have keys.
    pub fn is_of_user(&self) -> bool {
        is_of_user(&self.found)
    }

    /// Returns the credential of a login that the extension carries out, as it is stored. One of a project gets none.
    pub fn stored_login(&self, provider: &str) -> Option<Value> {
        let has_login = {
            let state = lock(&self.state);
            let known = state.registered.providers.iter().find(|known| known.name == provider);
            known.is_some_and(|known| known.login.is_some())
        };
        let may_have_it = has_login && self.is_of_user() && self.additions.may_add(provider);
        may_have_it.then(|| self.about.providers.stored_login(provider)).flatten()
    }

    /// Tells whether a provider of this name is the extension's.
    pub fn owns_provider(&self, name: &str) -> bool {
        self.additions.owns(name)
    }

    /// Tells whether the user trusts the project.
    pub fn is_in_trusted_project(&self) -> bool {
        self.group.upgrade().is_some_and(|group| group.trusts_project())
    }

    /// Returns the values of the flags that the manifest declares.
    pub fn manifest_flags(&self) -> BTreeMap<String, Value> {
        let values = self.launch.flags.iter().filter_map(|flag| {
            let given = self.plan.flags.iter().rev().find(|given| given.name == flag.name);
            if let (Some(given), Some(group)) = (given, self.group.upgrade()) {
                group.take_flag(&given.name);
            }
            let given = given.and_then(|given| given.value(flag).ok());
            Some((flag.name.clone(), given.or_else(|| flag.default.clone())?))
        });
        values.collect()
    }

    /// Returns the process, if it has registered and not exited.
    pub fn connection(&self) -> Option<Arc<Connection>> {
        lock(&self.state).connection.clone()
    }

    /// Returns what is known of the session.
    pub fn mirrored(&self) -> Option<Arc<Mirror>> {
        lock(&self.state).mirror.clone()
    }

    pub fn status(&self) -> ExtensionStatus {
        lock(&self.state).status.clone()
    }

    pub fn set_status(&self, status: ExtensionStatus) {
        lock(&self.state).status = status;
    }

    /// Returns what clients are told of it.
    pub fn describe(&self) -> ExtensionInfo {
        let state = lock(&self.state);
        ExtensionInfo {
            status: state.status.clone(),
            tools: state.registered.tools.iter().map(|tool| tool.name.clone()).collect(),
            commands: state.registered.commands.iter().map(|command| command.name.clone()).collect(),
            providers: state.registered.providers.iter().map(|provider| provider.name.clone()).collect(),
            hooks: state.registered.hook_names(),
            ..describe(&self.found)
        }
    }

    /// Uses a process that has registered, or none.
    pub fn set_connection(&self, connection: Option<Arc<Connection>>) {
        lock(&self.state).connection = connection;
    }

    /// Sends what is known of the session to a process that has just registered.
    pub fn tell_all(&self, connection: &Connection) {
        if let Some(mirror) = self.mirrored() {
            tell(connection, &mirror, &[]);
        }
    }

    /// Tells the process whether the project is trusted, which was decided after its start.
    pub fn tell_trust(&self, is_trusted: bool) {
        if let Some(connection) = self.connection() {
            let patch = Box::new(StateRecord { trusted: Some(is_trusted), ..StateRecord::default() });
            connection.send(&ToExtension::State { patch, entries: Vec::new() });
        }
    }

    /// Tells whether the extension takes what others emit.
    pub fn takes_bus(&self) -> bool {
        lock(&self.state).registered.takes_bus
    }

    /// Returns the values of the flags that the extension has registered. What is wrong with them is reported.
    pub fn flag_values(&self, problems: &mut Vec<String>) -> BTreeMap<String, Value> {
        let given = |flag: &protocol::FlagRegistration| {
            let given = self.plan.flags.iter().rev().find(|given| given.name == flag.name)?;
            if let Some(group) = self.group.upgrade() {
                group.take_flag(&flag.name);
            }
            Some(given.value(flag))
        };
        let state = lock(&self.state);
        let mut wrong = Vec::new();
        let values = state.registered.flag_values(|flag| match given(flag)? {
            Ok(value) => Some(value),
            Err(problem) => {
                wrong.push(problem);
                None
            }
        });
        drop(state);
        problems.extend(wrong);
        values
    }

    /// Reports a failure to the client.
    pub async fn fail(&self, event: &str, error: impl Into<String>) {
        let error = shorten(error.into());
        let extension = self.name.to_string();
        let failed = ExtensionError { extension, event: event.to_owned(), error };
        self.link.send(ExtensionInput::Failed(failed)).await;
    }

    /// Calls the process; an error if it has exited.
    pub fn start_call(
        &self,
        write: impl FnOnce(&mut Vec<u8>, &str),
    ) -> Result<(CallGuard, oneshot::Receiver<CallEnd>), String> {
        self.start_call_of(self.connection(), write)
    }

    fn start_call_of(
        &self,
        connection: Option<Arc<Connection>>,
        write: impl FnOnce(&mut Vec<u8>, &str),
    ) -> Result<(CallGuard, oneshot::Receiver<CallEnd>), String> {
        let (sender, end) = oneshot::channel();
        let guard = connection.and_then(|connection| connection.call(OpenCall::Answer(sender), write));
        Ok((guard.ok_or_else(|| exited(&self.id))?, end))
    }

    /// Returns what a hook results in while there is no process. One that may block tools blocks them: an extension that
    /// guards them must not be overcome by crashing it.
    fn while_down(&self, hook: HookKind) -> Result<HookResult, String> {
        match (hook, self.status()) {
            (HookKind::ToolCall, ExtensionStatus::Starting) => {
                Err(format!("Extension \"{}\" has not started", self.id))
            }
            (HookKind::ToolCall, _) => Err(exited(&self.id)),
            _ => Ok(HookResult::None),
        }
    }
}

impl Extension for ProcessExtension {
    fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    fn subscription(&self, hook: HookKind, tool: Option<&str>) -> Subscription {
        lock(&self.state).registered.subscription(hook, tool)
    }

    fn tell(&self, event: &HookEvent) {
        if let Some(connection) = self.connection() {
            connection.tell(event);
        }
    }

    fn call(
        &self,
        event: Arc<HookEvent>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<HookResult, String>> {
        let hook = event.kind();
        let limit = self.plan.limit(hook);
        let deadline_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let connection = self.connection();
        if connection.is_none() {
            return Box::pin(std::future::ready(self.while_down(hook)));
        }
        let started = match HookEventRecord::of(&event) {
            Some(event) => self.start_call_of(connection, |line, id| {
                write_json(line, &ToExtension::Hook { id, event: &event, deadline_ms });
            }),
            None => Err(exited(&self.id)),
        };
        Box::pin(async move {
            let (guard, end) = started?;
            let value = guard.answer(end, Some(limit), cancel).await.map_err(shorten)?;
            protocol::parse_result(&event, value)
        })
    }

    fn run_command(
        &self,
        name: &str,
        arguments: &str,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<CommandResult, String>> {
        let started = self.start_call(|line, id| {
            write_json(line, &ToExtension::Command { id, name, args: arguments });
        });
        Box::pin(async move {
            let (guard, end) = started?;
            guard.answer(end, None, cancel).await.map_err(shorten)?;
            Ok(CommandResult::Done)
        })
    }

    fn complete(
        self: Arc<Self>,
        command: &str,
        prefix: &str,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Vec<Completion>> {
        let is_offered = {
            let state = lock(&self.state);
            state.registered.commands.iter().any(|known| known.name == command && known.has_completion)
        };
        if !is_offered {
            return Box::pin(std::future::ready(Vec::new()));
        }
        Box::pin(completion::complete(self, command.to_owned(), prefix.to_owned(), cancel))
    }

    fn mirror(&self, session: &Arc<Mirror>, entries: &[Arc<str>]) {
        let connection = {
            let mut state = lock(&self.state);
            state.mirror = Some(Arc::clone(session));
            state.connection.clone()
        };
        if let Some(connection) = connection {
            tell(&connection, session, entries);
        }
    }

    fn widget_input(&self, key: &str, input: &WidgetInput) -> bool {
        self.connection().is_some_and(|connection| connection.widget_input(key, input))
    }

    fn wants_entries(&self) -> bool {
        lock(&self.state).registered.wants_entries
    }
}

/// Returns what clients are told of an extension that offers nothing yet.
pub(crate) fn describe(found: &Found) -> ExtensionInfo {
    ExtensionInfo {
        name: found.name.clone(),
        path: found.path.clone(),
        version: found.version.clone(),
        description: found.description.clone(),
        source_info: found.source.clone(),
        status: match &found.launch {
            Ok(_) => ExtensionStatus::Starting,
            Err(NotLoaded::Failed(reason)) => ExtensionStatus::Failed(reason.clone()),
            Err(NotLoaded::Unused(reason)) => ExtensionStatus::NotLoaded(reason.clone()),
        },
        tools: Vec::new(),
        commands: Vec::new(),
        providers: Vec::new(),
        hooks: Vec::new(),
    }
}

/// Tells whether the user put an extension there.
fn is_of_user(found: &Found) -> bool {
    found.source.scope != Scope::Project
}

/// Sends what has changed of the session.
fn tell(connection: &Connection, session: &Arc<Mirror>, entries: &[Arc<str>]) {
    let (patch, are_entries_known);
    let before = {
        let mut told = lock(&connection.pipe.told);
        let before = told.take();
        // Extensions that share a process are told one after the other, but the process needs to know only once.
        are_entries_known =
            before.as_ref().is_some_and(|told| Arc::ptr_eq(&told.mirror, session) && told.has_entries);
        let has_entries = are_entries_known || !entries.is_empty();
        *told = Some(Told { mirror: Arc::clone(session), has_entries });
        before
    };
    let entries = if are_entries_known { &[] } else { entries };
    patch = mirror::changes(before.as_ref().map(|told| &*told.mirror), session);
    let entries: Vec<&RawValue> = entries.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if !mirror::is_empty(&patch) || !entries.is_empty() {
        connection.send_to_all(&ToExtension::State { patch: Box::new(patch), entries });
    }
}

/// Returns a state with nothing but flags.
pub(crate) fn flags_only(flags: &BTreeMap<String, Value>) -> Box<StateRecord<'_>> {
    Box::new(StateRecord { flags: Some(flags), ..StateRecord::default() })
}

/// Returns the beginning of a text that an extension sent.
fn shorten(text: String) -> String {
    match text.char_indices().nth(LONGEST_ERROR) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

impl fmt::Debug for ProcessExtension {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ProcessExtension")
            .field("name", &self.name)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
