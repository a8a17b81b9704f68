//! The gate of a process and of its sessions: the settings, and what was agreed to since the start.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_core::ask::Remembered;
use bowline_core::sandbox::AskMode;
use bowline_engine::{CallGate, Check, Consent, GatedCall, HostName, Remembering, Verdict};
use bowline_tools::{ClosedPaths, IsClosed, wants_unsandboxed};
use serde_json::Value;

use crate::error::Error;
use crate::forbidden_paths;
use crate::judgement::Call;
use crate::remembered::{self, Projects};
use crate::rules::{Access, ForbiddenPaths, Rule, Source, Then, parse_all};

/// How many agreements a session keeps in memory. Whatever comes after is asked about each time.
const MOST_KEPT: usize = 10_000;

/// What the model reads if the gate has failed.
const NOT_APPLIED: &str = "The rules about calls could not be applied.";

/// What a gate is made of.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// When the user is asked.
    pub ask: AskMode,
    /// The rules of the settings, not checked yet.
    pub rules: Vec<Value>,
    /// The file of remembered approvals; without it nothing is remembered longer than the process lives.
    pub file: Option<PathBuf>,
    /// The folder that `~` stands for in a path.
    pub home: Option<PathBuf>,
}

/// Decides about calls.
#[derive(Clone)]
pub struct Gate {
    pub(crate) shared: Arc<Shared>,
    pub(crate) memory: Arc<Memory>,
    /// Whether it belongs to one session already.
    is_of_session: bool,
}

/// What is the same for all sessions.
pub(crate) struct Shared {
    pub ask: AskMode,
    pub rules: Vec<Rule>,
    pub projects: Projects,
    pub home: Option<PathBuf>,
    file: Option<PathBuf>,
}

/// What a session and its subagents have agreed to.
pub(crate) struct Memory {
    kept: Mutex<Kept>,
}

#[derive(Default)]
pub(crate) struct Kept {
    pub ask: AskMode,
    /// The rules that the user agreed to, with the folders that they are for.
    pub rules: Vec<(PathBuf, Rule)>,
    /// The digests of calls that the user agreed to.
    pub digests: HashSet<String>,
    /// How often the user has agreed to more than a call.
    pub revision: u64,
}

impl Gate {
    /// Reads the rules of the settings and what was remembered. A rule that is wrong or whose examples fail is an error, and
    /// so is a broken file.
    pub fn new(options: Options) -> Result<Self, Error> {
        let Options { ask, rules, file, home } = options;
        let source = Source::Settings { home: home.as_deref() };
        let rules = parse_all(&rules, source).map_err(|(index, problem)| Error::Rule { index, problem })?;
        let projects = file.as_deref().map(remembered::read).transpose()?.unwrap_or_default();
        let memory = Arc::new(Memory::new(ask));
        Ok(Self {
            shared: Arc::new(Shared { ask, rules, projects, home, file }),
            memory,
            is_of_session: false,
        })
    }

    /// Returns the files and folders that rules forbid to all tools, for whatever enforces that. Patterns are compared with
    /// the files that there are now. It blocks.
    pub fn forbidden_paths(&self, folder: &Path) -> ForbiddenPaths {
        let folder = bowline_files::canonical(folder);
        let remembered = self.shared.projects.get(&folder).into_iter().flatten();
        forbidden_paths::expand(self.shared.rules.iter().chain(remembered), &folder)
    }

    /// Tells whether nothing can keep a call from running, so that nothing need be looked at.
    fn lets_everything_run(&self, call: &GatedCall<'_>) -> bool {
        let is_confined = call.confinement.is_some_and(|confinement| confinement.is_active());
        let has_rules = !self.shared.rules.is_empty() || !self.shared.projects.is_empty();
        let wants_out = call.traits.is_some() && wants_unsandboxed(call.arguments);
        !(is_confined || has_rules || wants_out) && self.memory.kept().ask == AskMode::Never
    }
}

impl Memory {
    fn new(ask: AskMode) -> Self {
        Self { kept: Mutex::new(Kept { ask, ..Kept::default() }) }
    }

    pub fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallGate for Gate {
    fn for_session(&self) -> Option<Arc<dyn CallGate>> {
        if self.is_of_session {
            return None;
        }
        let memory = Arc::new(Memory::new(self.shared.ask));
        Some(Arc::new(Self { shared: Arc::clone(&self.shared), memory, is_of_session: true }))
    }

    fn check(&self, call: &GatedCall<'_>) -> Check {
        if self.lets_everything_run(call) {
            return Verdict::run().into();
        }
        let (gate, call) = (self.clone(), Call::from(call));
        Check::Later(Box::pin(async move {
            let judged = tokio::task::spawn_blocking(move || gate.judge(&call)).await;
            judged.unwrap_or_else(|_| Verdict::refused(NOT_APPLIED))
        }))
    }

    fn check_again(&self, call: &GatedCall<'_>, target: Option<&Path>) -> Check {
        if self.lets_everything_run(call) {
            return Verdict::run().into();
        }
        let (gate, call, target) = (self.clone(), Call::from(call), target.map(Path::to_owned));
        Check::Later(Box::pin(async move {
            let judged =
                tokio::task::spawn_blocking(move || gate.judge_again(&call, target.as_deref())).await;
            judged.unwrap_or_else(|_| Verdict::refused(NOT_APPLIED))
        }))
    }

    fn revision(&self) -> u64 {
        self.memory.kept().revision
    }

    fn check_host(&self, host: &HostName<'_>) -> Verdict {
        self.judge_host(host)
    }

    fn ask_mode(&self) -> AskMode {
        self.memory.kept().ask
    }

    fn wanted_ask_mode(&self) -> AskMode {
        self.shared.ask
    }

    fn set_ask_mode(&self, mode: AskMode) -> bool {
        self.memory.kept().ask = mode;
        true
    }

    fn remember(&self, consent: &Consent<'_>, remembered: Remembered) -> Option<Remembering> {
        let Consent { working_directory, digest, rule } = *consent;
        let parsed = rule.and_then(|rule| Rule::parse(rule, Source::Remembered).ok());
        {
            let mut kept = self.memory.kept();
            kept.revision += 1;
            match &parsed {
                Some(parsed) if kept.rules.len() < MOST_KEPT => {
                    kept.rules.push((working_directory.to_owned(), parsed.clone()));
                }
                None if kept.digests.len() < MOST_KEPT => drop(kept.digests.insert(digest.to_owned())),
                _ => {}
            }
        }
        if remembered == Remembered::Session {
            return None;
        }
        let (file, rule) = (self.shared.file.clone(), rule.cloned().filter(|_| parsed.is_some()));
        let folder = working_directory.to_owned();
        Some(Box::pin(async move {
            let (Some(file), Some(rule)) = (file, rule) else {
                return Err("there is no rule for it, or no file".to_owned());
            };
            let work = move || remembered::add(&file, &bowline_files::canonical(&folder), &rule);
            tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.to_string()))
        }))
    }
}

impl ClosedPaths for Gate {
    fn in_folder(&self, tool: &str, working_directory: &Path) -> Option<IsClosed> {
        let folder = bowline_files::canonical(working_directory);
        let remembered = self.shared.projects.get(&folder).into_iter().flatten();
        let denying = self.shared.rules.iter().chain(remembered).filter(|rule| rule.then == Then::Deny);
        let patterns = denying.filter_map(|rule| rule.path_pattern(tool, &[Access::Read]));
        let placed: Vec<_> = patterns.map(|pattern| pattern.placed(working_directory).into_owned()).collect();
        if placed.is_empty() {
            return None;
        }
        Some(Box::new(move |path, given| placed.iter().any(|pattern| pattern.restricts(path, given))))
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Gate").field("rules", &self.shared.rules.len()).finish_non_exhaustive()
    }
}
