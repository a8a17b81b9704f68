//! Definitions of agents that carry out tasks: Markdown files with fields for the name, the tools and the model, and
//! instructions below them. Two are part of the program.

use std::fs;
use std::path::{Path, PathBuf};

use bowline_core::subagent::AgentSource;
use bowline_core::thinking::ThinkingLevel;

use crate::front_matter::{self, Fields};

/// The most definitions that are read of a folder, and the largest file.
const MOST_FILES: usize = 64;
const SIZE_LIMIT: u64 = 64 * 1024;

/// The longest name and the longest description.
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1024;

/// An agent that can be given a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDefinition {
    pub name: String,
    /// What it is good for, in a line for the model that chooses.
    pub description: String,
    /// Added to the system prompt.
    pub instructions: String,
    /// The tools that it may use; those of whoever calls it, if absent.
    pub tools: Option<Vec<String>>,
    /// Patterns of models, of which the first that exists is used; the model of whoever calls it, if there are none.
    pub models: Vec<String>,
    pub thinking: Option<ThinkingLevel>,
    pub source: AgentSource,
}

/// A folder with definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFolder {
    pub path: PathBuf,
    pub source: AgentSource,
    /// Links that lead out of this folder are refused; none may, if absent.
    pub within: Option<PathBuf>,
}

/// The agents that can be given a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agents {
    /// In order of precedence, no two of the same name.
    pub definitions: Vec<AgentDefinition>,
    pub problems: Vec<Problem>,
}

/// A file that does not define an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The name of the file without its ending.
    pub name: String,
    /// A sentence with the file's path.
    pub text: String,
}

impl Agents {
    /// Returns the agents of these folders, in order of precedence, and those of the program. Blocks as long as the disk
    /// does.
    pub fn load(folders: &[AgentFolder]) -> Self {
        let mut agents = Self { definitions: Vec::new(), problems: Vec::new() };
        for folder in folders {
            for path in markdown_files(&folder.path) {
                match read(&path, folder) {
                    Ok(definition) => agents.add(definition),
                    Err(reason) => agents.problems.push(Problem {
                        name: stem(&path),
                        text: format!("{} is not used: {reason}", path.display()),
                    }),
                }
            }
        }
        bundled().into_iter().for_each(|definition| agents.add(definition));
        agents
    }

    /// Returns the agent of that name.
    pub fn get(&self, name: &str) -> Option<&AgentDefinition> {
        self.definitions.iter().find(|definition| definition.name == name)
    }

    fn add(&mut self, definition: AgentDefinition) {
        if self.get(&definition.name).is_none() {
            self.definitions.push(definition);
        }
    }
}

/// Returns the agents that are part of the program.
fn bundled() -> [AgentDefinition; 2] {
    let definition = |name: &str, description: &str, instructions: &str| AgentDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        instructions: instructions.to_owned(),
        tools: None,
        models: Vec::new(),
        thinking: None,
        source: AgentSource::Bundled,
    };
    let names = ["read", "grep", "find", "ls"].map(ToOwned::to_owned);
    [
        definition("task", "does a piece of work with the same tools as you", ""),
        AgentDefinition {
            tools: Some(names.to_vec()),
            ..definition(
                "explore",
                "searches and reads, changes nothing; for questions about code",
                "You only read: find what was asked for and report it. Search broadly first, then read the parts that \
                 matter. Name files with their paths and line numbers, and quote only what is needed.",
            )
        },
    ]
}

/// Returns the Markdown files of a folder, sorted by name; a missing folder has none.
fn markdown_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(listing) = fs::read_dir(folder) else { return Vec::new() };
    let paths = listing.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    files.sort();
    files.truncate(MOST_FILES);
    files
}

fn read(path: &Path, folder: &AgentFolder) -> Result<AgentDefinition, String> {
    let file = match &folder.within {
        Some(root) => bowline_files::open_within(root, path),
        None => bowline_files::open(path),
    };
    let beginning = file
        .and_then(|file| bowline_files::read_beginning(file, path, SIZE_LIMIT))
        .map_err(|error| error.to_string())?;
    if beginning.is_cut {
        return Err(format!("it is larger than {} KiB", SIZE_LIMIT / 1024));
    }
    let text = String::from_utf8(beginning.bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    define(&text, &stem(path), folder.source)
}

/// Returns the definition in a text.
fn define(text: &str, file_name: &str, source: AgentSource) -> Result<AgentDefinition, String> {
    let document = front_matter::parse(text).map_err(|error| error.to_string())?;
    let fields = &document.fields;
    let name = fields.text("name").unwrap_or(file_name).trim();
    if !is_name(name) {
        return Err(format!(
            "its name must have up to {LONGEST_NAME} letters, digits, _ and -, and begin with a letter or digit"
        ));
    }
    let description = fields.text("description").unwrap_or_default();
    let description: String = description.split_whitespace().collect::<Vec<_>>().join(" ");
    if description.is_empty() {
        return Err("it has no description".to_owned());
    }
    let thinking = ["thinking", "thinkingLevel", "thinking-level"].iter().find_map(|key| fields.text(key));
    let thinking = match thinking.map(str::trim).filter(|level| !level.is_empty()) {
        None => None,
        Some(level) => {
            Some(ThinkingLevel::parse(level).ok_or_else(|| format!("{level:?} is not a thinking level"))?)
        }
    };
    Ok(AgentDefinition {
        name: name.to_owned(),
        description: description.chars().take(LONGEST_DESCRIPTION).collect(),
        instructions: document.body.trim().to_owned(),
        tools: tools(fields),
        models: listed(fields, "model").into_iter().filter(|model| model != "inherit").collect(),
        thinking,
        source,
    })
}

/// Returns the tools that the fields name; none if they name all or none.
fn tools(fields: &Fields) -> Option<Vec<String>> {
    let names = listed(fields, "tools");
    if names.is_empty() || names.iter().any(|name| name == "*") {
        return None;
    }
    Some(names.iter().map(|name| own_tool(name)).collect())
}

/// Returns this program's name for a tool. Definitions for other agents name their tools with capitals.
fn own_tool(name: &str) -> String {
    match name {
        "Glob" | "glob" => "find".to_owned(),
        "Bash" | "Edit" | "Grep" | "LS" | "Read" | "Task" | "Write" => name.to_lowercase(),
        other => other.to_owned(),
    }
}

/// Returns the items of a field that is a list, or a text with commas.
fn listed(fields: &Fields, name: &str) -> Vec<String> {
    let items = fields.items(name).iter().flat_map(|item| item.split(','));
    items.map(str::trim).filter(|item| !item.is_empty()).map(ToOwned::to_owned).collect()
}

fn is_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_user(text: &str) -> Result<AgentDefinition, String> {
        define(text, "review", AgentSource::User)
    }

    #[test]
    fn fields_and_instructions_are_read() {
        let definition = of_user(
            "---\nname: reviewer\ndescription: >\n  reviews\n  changes\ntools: Read, Glob, mcp__Git__log\nmodel: [mock/a, b]\nthinking: high\n---\n\nBe strict.\n",
        );
        let expected = AgentDefinition {
            name: "reviewer".to_owned(),
            description: "reviews changes".to_owned(),
            instructions: "Be strict.".to_owned(),
            tools: Some(["read", "find", "mcp__Git__log"].map(ToOwned::to_owned).to_vec()),
            models: ["mock/a", "b"].map(ToOwned::to_owned).to_vec(),
            thinking: Some(ThinkingLevel::High),
            source: AgentSource::User,
        };
        assert_eq!(definition.unwrap(), expected);
        let definition = of_user("---\ndescription: d\ntools: '*'\nmodel: inherit\n---\n").unwrap();
        assert_eq!((&*definition.name, &definition.tools, definition.models.len()), ("review", &None, 0));
    }

    #[test]
    fn what_is_wrong_with_a_definition_is_said() {
        for (text, reason) in [
            ("Be strict.", "has no description"),
            ("---\ndescription: d\nname: ../x\n---\n", "its name must have"),
            ("---\ndescription: d\nthinking: hard\n---\n", "\"hard\" is not a thinking level"),
            ("---\ndescription: d\n", "no end"),
        ] {
            let error = of_user(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn earlier_folders_take_precedence_and_those_of_the_program_come_last() {
        let folder = tempfile::tempdir().unwrap();
        let add = |place: &str, name: &str, text: &str| {
            let place = folder.path().join(place);
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join(name), text).unwrap();
        };
        add("project", "explore.md", "---\ndescription: of the project\n---\n");
        add("own", "explore.md", "---\ndescription: of the user\n---\n");
        add("own", "broken.md", "---\n");
        add("own", "note.txt", "---\ndescription: none\n---\n");
        add("own", "large.md", &"x".repeat(70_000));
        let folders = [("project", AgentSource::Project), ("own", AgentSource::User)];
        let folders = folders.map(|(place, source)| AgentFolder {
            path: folder.path().join(place),
            source,
            within: None,
        });
        let agents = Agents::load(&folders);
        let names: Vec<_> =
            agents.definitions.iter().map(|agent| (&*agent.name, &*agent.description)).collect();
        assert_eq!(names[0], ("explore", "of the project"));
        assert_eq!((names.len(), names[1].0), (2, "task"));
        let problems: Vec<_> = agents.problems.iter().map(|problem| &*problem.name).collect();
        assert_eq!(problems, ["broken", "large"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_a_project_and_files_that_are_not_regular_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let (secret, place) = (folder.path().join("secret.md"), folder.path().join("project/agents"));
        fs::create_dir_all(&place).unwrap();
        fs::write(&secret, "---\ndescription: d\n---\n").unwrap();
        std::os::unix::fs::symlink(&secret, place.join("link.md")).unwrap();
        fs::create_dir(place.join("folder.md")).unwrap();
        let project = AgentFolder {
            path: place,
            source: AgentSource::Project,
            within: Some(folder.path().join("project")),
        };
        let agents = Agents::load(&[project]);
        assert_eq!((agents.definitions.len(), agents.problems.len()), (2, 2), "{agents:?}");
    }
}
