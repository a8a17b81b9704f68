//! The skills, prompt templates and instructions of the user and of trusted projects.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bowline_core::prompt::Skill;
use bowline_core::slash_command::SlashCommand;
use bowline_core::subagent::AgentSource;

use crate::agents::{AgentFolder, Agents};
use crate::error::Error;
use crate::instruction_files::{self, InstructionFiles};
use crate::options::{DiscoveredPath, ResourceKind, ResourceOptions};
use crate::prompt_templates::{self, PromptTemplate};
use crate::resource_files;
use crate::skills;
use crate::trust::{self, DefaultTrust, TrustFile};

/// How a prompt names a skill.
const SKILL_PREFIX: &str = "skill:";

/// The most different messages that are reported.
const MOST_MESSAGES: usize = 100;

/// The most projects whose decisions are remembered.
const MOST_PROJECTS: usize = 1000;

/// Where skills, templates and instructions are searched, and what the user chose about them.
///
/// Making one reads nothing. Its methods read files, so they belong on a thread that may block. Files are read whenever
/// they are needed, so that changes take effect at once. Cheap to clone.
#[derive(Clone, Default)]
pub struct Resources {
    /// Without it, there are no resources.
    shared: Option<Arc<Shared>>,
    /// What extensions named.
    discovered: Arc<[DiscoveredPath]>,
}

struct Shared {
    options: ResourceOptions,
    process: Arc<Process>,
}

/// What stays the same for as long as the process, whatever the user chooses meanwhile.
struct Process {
    /// Tells the user about a problem.
    report: Box<dyn Fn(&str) + Send + Sync>,
    reported: Mutex<HashSet<String>>,
    /// Which projects are trusted. A decision holds for as long as the process, so that nothing the agent does can
    /// change it.
    trusted: Mutex<HashMap<PathBuf, Trust>>,
}

/// What is known about a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Decided(bool),
    /// This many [`TrustQuestion`]s are open.
    Asked(usize),
}

/// A question whether a project is trusted that somebody else is to answer. While it is open, nothing of the project is
/// used; if nobody has decided when it is dropped, the user's files and settings do.
pub struct TrustQuestion {
    shared: Arc<Shared>,
    working: PathBuf,
}

impl fmt::Debug for Resources {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = self.shared.as_ref().map(|shared| &shared.options);
        formatter
            .debug_struct("Resources")
            .field("options", &options)
            .field("discovered", &self.discovered)
            .finish()
    }
}

/// What becomes of the text of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expansion {
    /// It names no skill and no template: it stays as it is.
    Unchanged,
    /// The text of a skill or template takes its place.
    Expanded(String),
    /// It names one that cannot be read: it stays as it is, and the client is told.
    Failed(ExpansionFailure),
}

/// Why a skill or template could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct ExpansionFailure {
    /// Its file.
    pub path: PathBuf,
    /// What failed, as clients know it.
    pub event: &'static str,
    pub error: String,
}

impl Resources {
    /// Returns resources as the user chose; `report` tells the user about problems.
    pub fn new(options: ResourceOptions, report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let process =
            Process { report: Box::new(report), reported: Mutex::default(), trusted: Mutex::default() };
        let shared = Shared { options, process: Arc::new(process) };
        Self { shared: Some(Arc::new(shared)), discovered: Arc::default() }
    }

    /// Returns resources as the user chooses now. What was decided about projects stays.
    #[must_use]
    pub fn with_options(&self, options: ResourceOptions) -> Self {
        let shared = self.shared.as_ref();
        let shared = shared.map(|shared| Arc::new(Shared { options, process: Arc::clone(&shared.process) }));
        Self { shared, discovered: Arc::clone(&self.discovered) }
    }

    /// Returns the same with what extensions named, which comes after everything else.
    #[must_use]
    pub fn with_discovered(&self, discovered: Vec<DiscoveredPath>) -> Self {
        Self { shared: self.shared.clone(), discovered: discovered.into() }
    }

    /// Returns whether nothing is searched.
    pub fn is_none(&self) -> bool {
        self.shared.is_none()
    }

    /// Returns whether the project in a folder is trusted. The first answer holds for as long as the process.
    pub fn is_trusted(&self, working: &Path) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.is_trusted(working))
    }

    /// Returns whether something else may decide about the project in a folder, before the user's files are asked: the
    /// command line does not decide, nothing has been decided yet, and the project has something that needs trust.
    pub fn is_trust_open(&self, working: &Path) -> bool {
        self.shared.as_ref().is_some_and(|shared| {
            shared.options.approval.is_none()
                && !matches!(lock(&shared.process.trusted).get(working), Some(Trust::Decided(_)))
                && !shared.found_in(working).is_empty()
        })
    }

    /// Opens the question whether the project in a folder is trusted, unless that is decided. Nothing is read.
    pub fn ask_trust(&self, working: &Path) -> Option<TrustQuestion> {
        let shared = self.shared.as_ref().filter(|shared| shared.options.approval.is_none())?;
        match lock(&shared.process.trusted).entry(working.to_owned()).or_insert(Trust::Asked(0)) {
            Trust::Decided(_) => return None,
            Trust::Asked(questions) => *questions += 1,
        }
        Some(TrustQuestion { shared: Arc::clone(shared), working: working.to_owned() })
    }

    /// Returns the commands for a session that works in a folder: templates, then skills.
    pub fn commands(&self, working: &Path) -> Vec<SlashCommand> {
        let Some(shared) = &self.shared else { return Vec::new() };
        let mut commands = Vec::new();
        for template in self.templates(shared, working) {
            match template.command() {
                Ok(command) => commands.push(command),
                Err(error) => shared.report(&format!("a prompt template is not used: {error}")),
            }
        }
        if !shared.options.without_skill_commands {
            commands.extend(self.loaded_skills(shared, working).iter().map(skills::command));
        }
        commands
    }

    /// Replaces `/skill:name` or `/template` at the beginning of a prompt.
    pub fn expand(&self, working: &Path, text: &str) -> Expansion {
        let (Some(shared), Some(command)) = (&self.shared, text.strip_prefix('/')) else {
            return Expansion::Unchanged;
        };
        let (name, arguments) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        if name.is_empty() {
            return Expansion::Unchanged;
        }
        if let Some(name) = name.strip_prefix(SKILL_PREFIX).filter(|_| !shared.options.without_skill_commands)
            && let Some(skill) =
                self.loaded_skills(shared, working).into_iter().find(|skill| skill.name == name)
        {
            return match skills::prompt(&skill, arguments) {
                Ok(text) => Expansion::Expanded(text),
                Err(error) => failed(skill.path, "skill_expansion", error),
            };
        }
        let template = self.templates(shared, working).into_iter().find(|template| template.name == name);
        match template.map(|template| (template.prompt(arguments), template.path)) {
            Some((Ok(text), _)) => Expansion::Expanded(text),
            Some((Err(error), path)) => failed(path, "template_expansion", error),
            None => Expansion::Unchanged,
        }
    }

    /// Returns the skills.
    pub fn skills(&self, working: &Path) -> Vec<Skill> {
        self.shared.as_ref().map(|shared| self.loaded_skills(shared, working)).unwrap_or_default()
    }

    /// Returns the instructions in files: those of the project if it is trusted, else those of the user.
    pub fn instruction_files(&self, working: &Path) -> InstructionFiles {
        let Some(shared) = &self.shared else { return InstructionFiles::default() };
        let own_folder = &shared.options.own_folder;
        let mut folders = match shared.is_trusted(working) {
            true => trust::project_folders(working, own_folder),
            false => Vec::new(),
        };
        folders.push(own_folder.clone());
        shared.reporting(|problems| instruction_files::load(&folders, problems))
    }

    /// Returns the agents that can be given tasks: those of the program, and those that the user and a trusted project
    /// define.
    pub fn agents(&self, working: &Path) -> Agents {
        let Some(shared) = &self.shared else { return Agents::load(&[]) };
        let own_folder = &shared.options.own_folder;
        let mut folders = Vec::new();
        if shared.is_trusted(working) {
            let names =
                trust::project_folders(working, own_folder).into_iter().map(|folder| folder.join("agents"));
            folders.extend(names.chain([working.join(trust::OMP_AGENTS)]).map(|path| AgentFolder {
                path,
                source: AgentSource::Project,
                within: Some(working.to_owned()),
            }));
        }
        folders.push(AgentFolder {
            path: own_folder.join("agents"),
            source: AgentSource::User,
            within: None,
        });
        Agents::load(&folders)
    }

    fn loaded_skills(&self, shared: &Shared, working: &Path) -> Vec<Skill> {
        let names = shared.options.skill_names.as_deref();
        shared.reporting(|problems| {
            skills::load(self.files(shared, ResourceKind::Skill, working, problems), names, problems)
        })
    }

    fn templates(&self, shared: &Shared, working: &Path) -> Vec<PromptTemplate> {
        shared.reporting(|problems| {
            prompt_templates::named(self.files(shared, ResourceKind::PromptTemplate, working, problems))
        })
    }

    fn files(
        &self,
        shared: &Shared,
        kind: ResourceKind,
        working: &Path,
        problems: &mut Vec<String>,
    ) -> Vec<resource_files::ResourceFile> {
        let is_trusted = shared.is_trusted(working);
        resource_files::find(&shared.options, &self.discovered, kind, working, is_trusted, problems)
    }
}

impl TrustQuestion {
    /// Tells whether the project has something that needs trust. Reads files.
    pub fn is_needed(&self) -> bool {
        !self.shared.found_in(&self.working).is_empty()
    }

    /// Answers the question, for as long as the process. The first answer counts.
    pub fn decide(&self, is_trusted: bool) {
        let mut trusted = lock(&self.shared.process.trusted);
        if let Some(trust @ Trust::Asked(_)) = trusted.get_mut(&self.working) {
            *trust = Trust::Decided(is_trusted);
        }
    }

    /// Records an answer for later processes. Writes a file.
    pub fn remember(&self, is_trusted: bool) -> Result<(), Error> {
        let file = TrustFile::in_folder(&self.shared.options.own_folder);
        file.decide(&self.working, Some(is_trusted)).map(drop)
    }
}

impl Drop for TrustQuestion {
    fn drop(&mut self) {
        let mut trusted = lock(&self.shared.process.trusted);
        match trusted.get_mut(&self.working) {
            Some(Trust::Asked(questions)) if *questions > 1 => *questions -= 1,
            Some(Trust::Asked(_)) => drop(trusted.remove(&self.working)),
            Some(Trust::Decided(_)) | None => {}
        }
    }
}

impl fmt::Debug for TrustQuestion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("TrustQuestion").field(&self.working).finish()
    }
}

impl Shared {
    fn is_trusted(&self, working: &Path) -> bool {
        let mut trusted = lock(&self.process.trusted);
        match trusted.get(working) {
            Some(Trust::Decided(decision)) => return *decision,
            Some(Trust::Asked(_)) => return false,
            None => {}
        }
        let decision = self.decide(working);
        if trusted.len() >= MOST_PROJECTS {
            trusted.retain(|_, trust| matches!(trust, Trust::Asked(_)));
        }
        trusted.insert(working.to_owned(), Trust::Decided(decision));
        decision
    }

    fn decide(&self, working: &Path) -> bool {
        if let Some(approval) = self.options.approval {
            return approval;
        }
        let recorded = TrustFile::in_folder(&self.options.own_folder).decision(working);
        let recorded = recorded.unwrap_or_else(|error| {
            self.report(&format!("no project is trusted: {error}"));
            Some(false)
        });
        match (recorded, self.options.default_trust) {
            (Some(decision), _) => decision,
            (None, DefaultTrust::Always) => true,
            (None, DefaultTrust::Never) => false,
            (None, DefaultTrust::Ask) => {
                self.mention_what_is_left_out(working);
                false
            }
        }
    }

    /// Returns what a project has that needs trust and would be used.
    fn found_in(&self, working: &Path) -> Vec<PathBuf> {
        let mut found = trust::found_in(working, &self.options.own_folder, self.options.home.as_deref());
        if self.options.imports_claude_hooks {
            found.extend(trust::claude_settings_in(working, self.options.home.as_deref()));
        }
        found
    }

    /// Tells the user what a project has that is not used, and how to change that.
    fn mention_what_is_left_out(&self, working: &Path) {
        let found = self.found_in(working);
        if found.is_empty() {
            return;
        }
        let relative = |path: &PathBuf| path.strip_prefix(working).unwrap_or(path).display().to_string();
        let names: Vec<_> = found.iter().map(relative).collect();
        self.report(&format!(
            "not used, because this project is not trusted: {}. Pass --approve to use them this time, or run: bowline \
             trust {}",
            names.join(", "),
            working.display()
        ));
    }

    /// Does something that may find problems, and reports them.
    fn reporting<T>(&self, work: impl FnOnce(&mut Vec<String>) -> T) -> T {
        let mut problems = Vec::new();
        let result = work(&mut problems);
        for problem in problems {
            self.report(&problem);
        }
        result
    }

    /// Reports a problem, once.
    fn report(&self, message: &str) {
        let mut reported = lock(&self.process.reported);
        if reported.len() < MOST_MESSAGES && reported.insert(message.to_owned()) {
            drop(reported);
            (self.process.report)(message);
        }
    }
}

fn failed(path: PathBuf, event: &'static str, error: String) -> Expansion {
    Expansion::Failed(ExpansionFailure { path, event, error })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
