//! The form in which each file of this crate declares its tool, and what all of them share when they are called: the
//! arguments are checked against the parameters first, and blocking work goes to the blocking pool.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bowline_core::message::Arguments;
use bowline_core::tool::{PATH_ALIAS, ToolDefinition, ToolTraits};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::confinement::Confinement;
use crate::error::Error;
use crate::parameters::{self, Parameter};
use crate::paths;
use crate::todo::TODO;
use crate::tool::{BoxFuture, CallContext, Outcome, Tool};
use crate::toolbox::Options;

/// The longest path that the system accepts, in bytes.
const MAX_PATH: usize = 4096;

/// What bowline's own folder holds, each of which may be a link to another place.
const OWN_NAMES: [&str; 5] = ["approvals.json", "auth.json", "models.json", "settings.json", "sessions"];

/// How many searches run at the same time, in the whole process. Each may take some ten megabytes, and an answer may ask
/// for many.
static SEARCHES: Semaphore = Semaphore::const_new(4);

/// Everything that is known of a built-in tool. Its file is the only place that states it.
pub(crate) struct Builtin {
    pub traits: ToolTraits,
    /// What the tool does and when to use it, for the model.
    pub description: &'static str,
    pub parameters: &'static [Parameter],
    /// Whether the tool is enabled when the user selects none.
    pub enabled_by_default: bool,
    /// Completes the definition with what depends on the options.
    pub describe: fn(&Options, &mut ToolDefinition),
    /// Converts argument forms that models are known to send into the declared one, before the check.
    pub prepare: fn(&mut Arguments),
    pub run: fn(Call) -> BoxFuture<'static, Outcome>,
}

/// One call of a built-in tool, its arguments checked.
pub(crate) struct Call {
    pub options: Arc<Options>,
    pub context: CallContext,
    pub arguments: Arguments,
    /// Bowline's own folder and what it links to, canonical; found with the first path.
    own_places: OnceLock<Vec<PathBuf>>,
}

impl Call {
    pub(crate) fn new(options: Arc<Options>, context: CallContext, arguments: Arguments) -> Self {
        Self { options, context, arguments, own_places: OnceLock::new() }
    }

    /// Returns the path that the model means by `given` with every link resolved, unless it is in bowline's own folder.
    pub(crate) fn resolve_links(&self, given: &str) -> Result<PathBuf, Error> {
        // What is checked is what is used: the links may be others a moment later.
        let path = bowline_files::canonical(&self.resolve(given)?);
        self.refuse_own_folder(&path, given)?;
        Ok(path)
    }

    /// Returns the absolute path that the model means by `given`, unless it leads into bowline's own folder.
    pub(crate) fn resolve(&self, given: &str) -> Result<PathBuf, Error> {
        // Errors repeat what was given.
        if given.len() > MAX_PATH {
            return Err(Error::PathTooLong { length: given.len(), limit: MAX_PATH });
        }
        let home = self.options.home_directory.as_deref();
        let path = paths::resolve(&self.context.working_directory, home, given);
        self.refuse_own_folder(&bowline_files::canonical(&path), given)?;
        Ok(path)
    }

    /// Opens the regular file at `path` for reading. What was opened is checked, whatever the path stood for before.
    pub(crate) fn open(&self, path: &Path, given: &str) -> Result<File, Error> {
        let failed = |error| Error::opening("read", given, path, error);
        let file = bowline_files::open(path).map_err(failed)?;
        let real = bowline_files::real_path(&file, path).map_err(failed)?;
        self.refuse_own_folder(&real, given)?;
        Ok(file)
    }

    /// Refuses a path in bowline's own folder. It must be canonical.
    fn refuse_own_folder(&self, path: &Path, given: &str) -> Result<(), Error> {
        let Some(folder) = &self.options.own_folder else { return Ok(()) };
        if self.own_places.get_or_init(|| own_places(folder)).iter().any(|place| path.starts_with(place)) {
            return Err(Error::OwnFolder { path: given.to_owned(), folder: folder.clone() });
        }
        Ok(())
    }
}

/// Returns bowline's own folder, and those of its files that may be links to another place.
pub fn own_paths(folder: &Path) -> Vec<PathBuf> {
    let mut paths = vec![folder.to_owned()];
    paths.extend(OWN_NAMES.iter().map(|name| folder.join(name)));
    paths
}

/// Returns bowline's own folder and what it links to, canonical.
fn own_places(folder: &Path) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = Vec::new();
    for place in own_paths(folder).iter().map(|path| bowline_files::canonical(path)) {
        if !places.first().is_some_and(|own| place.starts_with(own)) {
            places.push(place);
        }
    }
    places
}

/// A built-in tool with its options, ready to be called.
pub(crate) struct Ready {
    builtin: &'static Builtin,
    /// Built when first asked for.
    definition: OnceLock<ToolDefinition>,
    options: Arc<Options>,
}

impl Ready {
    pub(crate) fn new(builtin: &'static Builtin, options: Arc<Options>) -> Self {
        Self { builtin, definition: OnceLock::new(), options }
    }

    /// Returns what confines a call, if anything does.
    fn confinement(&self, context: &CallContext) -> Option<&Arc<dyn Confinement>> {
        let touches_the_machine = self.builtin.traits.name != TODO;
        let confinement = self.options.confinement.as_ref().filter(|confinement| confinement.is_active());
        confinement.filter(|_| touches_the_machine && !context.grants.unsandboxed)
    }

    fn define(&self) -> ToolDefinition {
        let mut definition = ToolDefinition {
            name: self.builtin.traits.name.to_owned(),
            description: self.builtin.description.to_owned(),
            parameters: parameters::schema(self.builtin.parameters),
            strict: None,
        };
        (self.builtin.describe)(&self.options, &mut definition);
        definition
    }
}

impl Tool for Ready {
    fn definition(&self) -> &ToolDefinition {
        self.definition.get_or_init(|| self.define())
    }

    fn name(&self) -> &str {
        self.builtin.traits.name
    }

    fn traits(&self) -> Option<&'static ToolTraits> {
        Some(&self.builtin.traits)
    }

    fn refuse_arguments(&self, arguments: &Arguments) -> Option<String> {
        checked(self.builtin, arguments.clone()).err().map(|error| error.to_string())
    }

    fn call(&self, context: CallContext, arguments: Arguments) -> BoxFuture<'static, Outcome> {
        if let Some(confinement) = self.confinement(&context) {
            return confinement.call(self.builtin.traits.name, context, arguments);
        }
        match checked(self.builtin, arguments) {
            Ok(arguments) => (self.builtin.run)(Call::new(Arc::clone(&self.options), context, arguments)),
            Err(error) => Box::pin(std::future::ready(error.into())),
        }
    }
}

/// Returns the arguments of a call as the tool gets them, or why it does not run.
pub(crate) fn checked(builtin: &Builtin, mut arguments: Arguments) -> Result<Arguments, Error> {
    (builtin.prepare)(&mut arguments);
    parameters::check(builtin.traits.name, builtin.parameters, arguments)
}

/// The `prepare` of a tool whose path models also call as other agents do.
pub(crate) fn with_path_alias(arguments: &mut Arguments) {
    rename(arguments, PATH_ALIAS, "path");
}

/// Gives an argument its declared name, unless there is one of that name.
pub(crate) fn rename(arguments: &mut Arguments, alias: &str, name: &str) {
    if !arguments.contains_key(name)
        && let Some(value) = arguments.shift_remove(alias)
    {
        arguments.insert(name.to_owned(), value);
    }
}

/// The `describe` of a tool that is the same whatever the options.
pub(crate) fn described(_options: &Options, _definition: &mut ToolDefinition) {}

/// The `prepare` of a tool that takes its arguments as they are.
pub(crate) fn unprepared(_arguments: &mut Arguments) {}

/// Runs a search like [`interruptible`], as soon as few enough others are running.
pub(crate) async fn search<W>(call: Call, work: W) -> Outcome
where
    W: FnOnce(&Call, &CancellationToken) -> Result<Outcome, Error> + Send + 'static,
{
    let cancel = call.context.cancel.clone();
    let permit = tokio::select! {
        biased;
        () = cancel.cancelled() => return Error::Aborted.into(),
        permit = SEARCHES.acquire() => permit,
    };
    // The permit is held until the work has really ended.
    interruptible(call, move |call, cancel| {
        let _permit = permit;
        work(call, cancel)
    })
    .await
}

/// Runs `work` on the blocking pool. Cancelling returns at once; the work sees its token and stops soon after, as it
/// does when the returned future is dropped.
pub(crate) async fn interruptible<W>(call: Call, work: W) -> Outcome
where
    W: FnOnce(&Call, &CancellationToken) -> Result<Outcome, Error> + Send + 'static,
{
    let cancel = call.context.cancel.clone();
    let token = cancel.child_token();
    let _stop_when_dropped = token.clone().drop_guard();
    let worker = tokio::task::spawn_blocking(move || work(&call, &token));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Error::Aborted.into(),
        finished = worker => finished.unwrap_or(Err(Error::Internal)).unwrap_or_else(Outcome::from),
    }
}

/// Runs `work` on the blocking pool and always waits for it: for work that changes a file, where returning early could
/// report the wrong outcome.
pub(crate) async fn uninterrupted<W, T>(work: W) -> Result<T, Error>
where
    W: FnOnce() -> Result<T, Error> + Send + 'static,
    T: Send + 'static,
{
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(Error::Internal))
}
