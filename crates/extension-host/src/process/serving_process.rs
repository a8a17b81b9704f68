//! A process that serves extensions: one of them, or all of pi's.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bowline_core::extension_info::ExtensionStatus;
use bowline_core::ui::{Display, ExtensionError};
use bowline_engine::{About, ExtensionInput, SessionLink};
use bowline_tools::ServiceLaunch;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::process::connection::{Connection, Sharing, lock};
use crate::process::discovery::Program;
use crate::process::extension::ProcessExtension;
use crate::process::pi_host;
use crate::process::pipe::Pipe;
use crate::process::plan::Plan;
use crate::protocol::{InitExtension, ToExtension};

/// The environment variable that has the short name of the extension.
const EXTENSION_VARIABLE: &str = "BOWLINE_EXTENSION";

/// The short name of the process that pi's extensions share.
pub(crate) const PI_HOST: &str = "pi-extensions";

/// How long the process may be silent while it loads an extension.
const LONGEST_SILENCE: Duration = Duration::from_secs(25);

/// A process that serves extensions, through all its restarts.
pub(crate) struct Process {
    pub plan: Arc<Plan>,
    pub about: About,
    pub link: SessionLink,
    /// The short name, for logs.
    pub name: Arc<str>,
    sharing: Sharing,
    state: Mutex<State>,
    /// Notified when the process says what it loads.
    loading_changed: Notify,
}

#[derive(Default)]
struct State {
    members: Vec<Arc<ProcessExtension>>,
    /// The run in progress.
    run: Option<Run>,
    /// Told when it is known whether the extensions start.
    waiting: Vec<oneshot::Sender<()>>,
}

/// One run of the process.
struct Run {
    pipe: Arc<Pipe>,
    /// The connections of the extensions, in the order of the members.
    connections: Vec<Arc<Connection>>,
    /// The extension that it is loading, and since when nothing was heard of that.
    loading: Option<(Arc<str>, Instant)>,
    /// How often it is still to register: once for its start, and once for each time that it was told of more extensions.
    expected: usize,
}

impl Run {
    /// Tells whether everything that the process was told to load has registered or failed.
    fn is_registered(&self) -> bool {
        self.expected == 0
    }
}

/// An extension in the run in progress.
#[derive(Clone)]
pub(crate) struct Member {
    pub extension: Arc<ProcessExtension>,
    pub connection: Arc<Connection>,
}

impl Process {
    /// Returns a process of an extension's own.
    pub fn of(extension: Arc<ProcessExtension>) -> Self {
        let name = Arc::clone(extension.id());
        let (plan, about, link) =
            (Arc::clone(&extension.plan), extension.about.clone(), extension.link.clone());
        let state = State { members: vec![extension], ..State::default() };
        Self {
            plan,
            about,
            link,
            name,
            sharing: Sharing::Alone,
            state: Mutex::new(state),
            loading_changed: Notify::new(),
        }
    }

    /// Returns the process that pi's extensions share.
    pub fn of_pi(plan: Arc<Plan>, about: About, link: SessionLink) -> Self {
        Self {
            plan,
            about,
            link,
            name: PI_HOST.into(),
            sharing: Sharing::Shared,
            state: Mutex::default(),
            loading_changed: Notify::new(),
        }
    }

    /// Tells whether the process serves several extensions.
    pub fn is_shared(&self) -> bool {
        self.sharing == Sharing::Shared
    }

    /// Returns the extensions.
    pub fn members(&self) -> Vec<Arc<ProcessExtension>> {
        lock(&self.state).members.clone()
    }

    /// Adds extensions. If the process runs already, it is told of them.
    pub fn add(&self, extensions: &[Arc<ProcessExtension>]) {
        let mut state = lock(&self.state);
        state.members.extend(extensions.iter().cloned());
        let Some(run) = &mut state.run else { return };
        let added: Vec<_> =
            extensions.iter().map(|extension| self.connection(extension, &run.pipe)).collect();
        if let Some(first) = added.first() {
            describe_all(extensions, |described| {
                first.send_to_all(&ToExtension::Load { extensions: described });
            });
        }
        run.connections.extend(added);
        run.expected += 1;
    }

    /// Returns a receiver that ends when it is known whether the extensions start.
    pub fn settled(&self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        let mut state = lock(&self.state);
        if !state.run.as_ref().is_some_and(Run::is_registered) {
            state.waiting.push(sender);
        }
        receiver
    }

    /// Tells those that wait that it is known whether the extensions start.
    pub fn settle(&self) {
        lock(&self.state).waiting.clear();
    }

    /// Begins a run.
    pub fn begin_run(&self, pipe: &Arc<Pipe>) {
        let mut state = lock(&self.state);
        let connections = state.members.iter().map(|member| self.connection(member, pipe)).collect();
        state.run = Some(Run { pipe: Arc::clone(pipe), connections, loading: None, expected: 1 });
    }

    /// Ends the run: every call of it fails, and its components are gone.
    pub async fn end_run(&self) {
        let run = lock(&self.state).run.take();
        let connections = run.iter().flat_map(|run| &run.connections);
        for connection in connections.clone() {
            connection.close();
        }
        for member in self.members() {
            member.set_connection(None);
        }
        for key in connections.flat_map(|connection| connection.take_left_components()) {
            let display = Display::Widget { key, lines: None, placement: None, takes_keys: false };
            self.link.send(ExtensionInput::Display(display)).await;
        }
    }

    /// Ends everything that the extensions were asked for or have asked for, because they have to exit.
    pub fn close_connections(&self) {
        for connection in lock(&self.state).run.iter().flat_map(|run| &run.connections) {
            connection.close();
        }
    }

    /// Returns an extension in the run in progress: the one of a name, or the only one.
    pub fn member(&self, name: Option<&str>) -> Option<Member> {
        let state = lock(&self.state);
        let connections = &state.run.as_ref()?.connections;
        let place = match (self.sharing, name) {
            (Sharing::Alone, _) => 0,
            (Sharing::Shared, Some(name)) => {
                state.members.iter().position(|member| **member.id() == *name)?
            }
            (Sharing::Shared, None) => return None,
        };
        let (extension, connection) = (state.members.get(place)?, connections.get(place)?);
        Some(Member { extension: Arc::clone(extension), connection: Arc::clone(connection) })
    }

    /// Returns the extensions in the run in progress.
    pub fn running_members(&self) -> Vec<Member> {
        let state = lock(&self.state);
        let connections = state.run.iter().flat_map(|run| &run.connections);
        let pairs = state.members.iter().cloned().zip(connections.cloned());
        pairs.map(|(extension, connection)| Member { extension, connection }).collect()
    }

    /// Notes that the process is loading an extension.
    pub fn loading(&self, extension: &Arc<str>) {
        if let Some(run) = &mut lock(&self.state).run {
            run.loading = Some((Arc::clone(extension), Instant::now()));
        }
        self.loading_changed.notify_waiters();
    }

    /// Notes that the process loads no extension for now.
    pub fn loaded(&self) {
        if let Some(run) = &mut lock(&self.state).run {
            run.loading = None;
        }
    }

    /// Waits until the process is silent for too long while it loads an extension.
    pub async fn blocked(&self) {
        loop {
            let changed = self.loading_changed.notified();
            let since = lock(&self.state).run.as_ref().and_then(|run| Some(run.loading.as_ref()?.1));
            match since.map(|since| since + LONGEST_SILENCE) {
                Some(time) if time <= Instant::now() => return,
                Some(time) => drop(timeout_at(time, changed).await),
                None => changed.await,
            }
        }
    }

    /// Takes the extension that the process was loading out of it, for good. Returns whether there was one.
    pub fn remove_loading(&self) -> Option<Arc<ProcessExtension>> {
        let mut state = lock(&self.state);
        let (name, _) = state.run.as_mut()?.loading.take()?;
        let place = state.members.iter().position(|member| *member.id() == name)?;
        Some(state.members.remove(place))
    }

    /// Notes that what the process was told to load has registered or failed.
    pub fn registered(&self) {
        let is_registered = lock(&self.state).run.as_mut().is_some_and(|run| {
            run.expected = run.expected.saturating_sub(1);
            run.loading = None;
            run.is_registered()
        });
        if is_registered {
            self.settle();
        }
    }

    /// Tells whether the run in progress has registered.
    pub fn is_registered(&self) -> bool {
        lock(&self.state).run.as_ref().is_some_and(Run::is_registered)
    }

    /// Sets the status of the extensions that are starting or running. One that could not be loaded stays so.
    pub fn set_status(&self, status: &ExtensionStatus) {
        for member in self.members() {
            if !self.is_shared() || !matches!(member.status(), ExtensionStatus::Failed(_)) {
                member.set_status(status.clone());
            }
        }
    }

    /// Reports a failure of the process to the client, once.
    pub async fn fail(&self, event: &str, error: String) {
        match &*self.members() {
            [only] => only.fail(event, error).await,
            _ => {
                let extension = format!("<{}>", self.name);
                let failed = ExtensionError { extension, event: event.to_owned(), error };
                self.link.send(ExtensionInput::Failed(failed)).await;
            }
        }
    }

    /// Returns how the process is started, or why it cannot be.
    pub async fn launch(&self) -> Result<ServiceLaunch, String> {
        let mut launch = match &*self.members() {
            [only] if !self.is_shared() => launch_of(only),
            _ => {
                let (plan, about) = (Arc::clone(&self.plan), self.about.clone());
                let made = tokio::task::spawn_blocking(move || pi_host::launch(&plan, &about)).await;
                made.map_err(|error| error.to_string())??
            }
        };
        // By this variable a library knows from the beginning that stdout is for records.
        launch.environment.push((EXTENSION_VARIABLE.to_owned(), self.name.to_string()));
        Ok(launch)
    }

    /// Calls `send` with what the process is told of its extensions at the start.
    pub fn describe_members(&self, send: impl FnOnce(&[InitExtension<'_>])) {
        describe_all(&self.members(), send);
    }

    fn connection(&self, extension: &ProcessExtension, pipe: &Arc<Pipe>) -> Arc<Connection> {
        Arc::new(Connection::new(Arc::clone(extension.id()), Arc::clone(pipe), self.sharing))
    }
}

impl std::fmt::Debug for Process {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Process").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Calls `send` with what a process is told of extensions.
fn describe_all(extensions: &[Arc<ProcessExtension>], send: impl FnOnce(&[InitExtension<'_>])) {
    let paths: Vec<_> = extensions
        .iter()
        .map(|extension| match &extension.launch.program {
            Program::Command(_) => extension.found.path.to_string_lossy(),
            Program::PiModule(entry) => entry.to_string_lossy(),
        })
        .collect();
    let described: Vec<_> = extensions
        .iter()
        .zip(&paths)
        .map(|(extension, path)| InitExtension {
            id: extension.id(),
            path,
            source_info: (&extension.found.source).into(),
        })
        .collect();
    send(&described);
}

/// Returns how the process of one extension is started.
fn launch_of(extension: &ProcessExtension) -> ServiceLaunch {
    let command: &[String] = match &extension.launch.program {
        Program::Command(command) => command,
        Program::PiModule(_) => &[],
    };
    let mut command = command.iter().cloned();
    // A project's extension gets no more than its commands do.
    let names = extension.launch.environment.iter().filter(|_| extension.is_of_user());
    let environment = names.filter_map(|name| Some((name.clone(), (extension.plan.variable)(name)?)));
    ServiceLaunch {
        environment: environment.collect(),
        program: command.next().unwrap_or_default(),
        arguments: command.collect(),
        working_directory: extension.about.directory.clone(),
        options: Arc::clone(&extension.plan.options),
    }
}
