//! Skills: instructions for a kind of task, which the model reads when a task calls for them, or the user names.

use std::collections::HashSet;
use std::path::Path;

use bowline_core::prompt::Skill;
use bowline_core::slash_command::{CommandKind, SlashCommand};
use globset::{Glob, GlobMatcher};

use crate::front_matter;
use crate::resource_files::ResourceFile;

/// The longest name and description that a skill may have.
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1024;

/// The longest file of a skill.
const LARGEST: u64 = 512 * 1024;

/// The most that is read of a file to learn what the skill is about.
const LARGEST_FRONT_MATTER: u64 = 32 * 1024;

/// The key that keeps a skill from the model, so that only the user can name it.
const USER_ONLY: &str = "disable-model-invocation";

/// Reads what the skills in some files are about. Of several with the same name the first counts. If there are `names`,
/// only skills with one of them do. What is wrong with a skill goes to `problems`.
pub(crate) fn load(
    files: Vec<ResourceFile>,
    names: Option<&[String]>,
    problems: &mut Vec<String>,
) -> Vec<Skill> {
    let wanted: Option<Vec<GlobMatcher>> = names.map(|names| {
        let globs = names.iter().filter_map(|name| Glob::new(name).ok());
        globs.map(|glob| glob.compile_matcher()).collect()
    });
    let mut taken = HashSet::new();
    let mut skills = Vec::new();
    for file in files {
        let Some(skill) = describe(file, problems) else { continue };
        let is_wanted =
            wanted.as_ref().is_none_or(|globs| globs.iter().any(|glob| glob.is_match(&skill.name)));
        if !is_wanted {
            continue;
        }
        if taken.insert(skill.name.clone()) {
            skills.push(skill);
        } else {
            let (name, path) = (&skill.name, skill.path.display());
            problems.push(format!("skill {path} is not used: another one is also named {name}"));
        }
    }
    skills
}

/// Reads what a skill is about.
fn describe(file: ResourceFile, problems: &mut Vec<String>) -> Option<Skill> {
    let ResourceFile { path, source, is_loose } = file;
    let opened = bowline_files::open(&path);
    let read = opened.and_then(|opened| bowline_files::read_beginning(opened, &path, LARGEST_FRONT_MATTER));
    let text = match read {
        Ok(beginning) => String::from_utf8_lossy(&beginning.bytes).into_owned(),
        Err(error) => {
            problems.push(format!("a skill is not used: {error}"));
            return None;
        }
    };
    let fields = match front_matter::parse(&text) {
        Ok(document) => document.fields,
        Err(error) if is_loose => {
            problems.push(format!("{} is not used as a skill: {error}", path.display()));
            return None;
        }
        Err(error) => {
            problems.push(format!("skill {} is not used: {error}", path.display()));
            return None;
        }
    };
    let field = |name: &str| fields.text(name).map(str::trim).filter(|text| !text.is_empty());
    let Some(description) = field("description") else {
        // Any Markdown file may lie beside skills.
        if !is_loose {
            problems.push(format!("skill {} is not used: it has no description", path.display()));
        }
        return None;
    };
    let folder = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let name = field("name").map(ToOwned::to_owned).or(folder).unwrap_or_default();
    for problem in name_problems(&name).chain(description_problem(description)) {
        problems.push(format!("skill {}: {problem}", path.display()));
    }
    if name.is_empty() || name.contains(char::is_whitespace) {
        problems.push(format!("skill {} is not used: no prompt could name it", path.display()));
        return None;
    }
    Some(Skill {
        description: description.to_owned(),
        is_user_only: fields.flag(USER_ONLY) == Some(true),
        name,
        source,
        path,
    })
}

/// Returns what is wrong with a name. The skill is used nevertheless.
fn name_problems(name: &str) -> impl Iterator<Item = String> {
    let is_allowed = |character: char| matches!(character, 'a'..='z' | '0'..='9' | '-');
    [
        (name.chars().count() > LONGEST_NAME)
            .then(|| format!("its name has more than {LONGEST_NAME} characters")),
        (!name.chars().all(is_allowed))
            .then(|| format!("its name \"{name}\" has other characters than a-z, 0-9 and hyphens")),
        (name.starts_with('-') || name.ends_with('-') || name.contains("--"))
            .then(|| format!("its name \"{name}\" begins or ends with a hyphen or has two in a row")),
    ]
    .into_iter()
    .flatten()
}

fn description_problem(description: &str) -> Option<String> {
    (description.chars().count() > LONGEST_DESCRIPTION)
        .then(|| format!("its description has more than {LONGEST_DESCRIPTION} characters"))
}

/// Returns the command that names a skill in a prompt.
pub(crate) fn command(skill: &Skill) -> SlashCommand {
    SlashCommand {
        name: format!("skill:{}", skill.name),
        description: Some(skill.description.clone()),
        argument_hint: None,
        has_completion: false,
        kind: CommandKind::Skill,
        source_info: skill.source.clone(),
    }
}

/// Returns the instructions of a skill as part of a prompt, with what the user wrote after its name. They are read now, so
/// that a change takes effect at once.
pub(crate) fn prompt(skill: &Skill, arguments: &str) -> Result<String, String> {
    let text = bowline_files::read_text(&skill.path, LARGEST).map_err(|error| error.to_string())?;
    let document = front_matter::parse(&text).map_err(|error| error.to_string())?;
    let body = document.body.trim();
    let folder = skill.path.parent().unwrap_or(Path::new("/"));
    let (name, path) = (escaped(&skill.name), escaped(&skill.path.to_string_lossy()));
    let mut prompt = format!(
        "<skill name=\"{name}\" location=\"{path}\">\nReferences are relative to {}.\n\n{body}\n</skill>",
        folder.display()
    );
    let arguments = arguments.trim();
    if !arguments.is_empty() {
        prompt.push_str("\n\n");
        prompt.push_str(arguments);
    }
    Ok(prompt)
}

/// The most that the list of skills takes of a system prompt, in bytes: every request pays for it.
const LONGEST_SECTION: usize = 24 * 1024;

/// What the list of skills is for.
const SECTION_HEAD: &str = "\
Skills are instructions for kinds of tasks. Before you start on a task that the description of a skill fits, read the \
file at its location and follow it. Paths in a skill are relative to the folder of its file.";

/// Returns the part of a system prompt that lists skills; empty if there are none for the model.
pub fn section(skills: &[Skill]) -> String {
    let mut visible = skills.iter().filter(|skill| !skill.is_user_only).peekable();
    if visible.peek().is_none() {
        return String::new();
    }
    let mut section = format!("{SECTION_HEAD}\n<available_skills>\n");
    let mut left_out = 0;
    for skill in visible {
        let description: String = skill.description.chars().take(LONGEST_DESCRIPTION).collect();
        let (name, description) = (escaped(&skill.name), escaped(&description));
        let path = escaped(&skill.path.to_string_lossy());
        let entry = format!(
            "<skill>\n<name>{name}</name>\n<description>{description}</description>\n<location>{path}</location>\n</skill>\n"
        );
        if section.len() + entry.len() > LONGEST_SECTION {
            left_out += 1;
        } else {
            section.push_str(&entry);
        }
    }
    section.push_str("</available_skills>");
    if left_out > 0 {
        section.push_str(&format!("\n[{left_out} more skills are not listed: the list would be too long.]"));
    }
    section
}

/// Returns a text in one line in which nothing is a tag or ends an attribute.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use bowline_core::slash_command::{Packaging, Scope, SourceInfo};

    use super::*;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn file(&self, path: &str, text: &str) -> ResourceFile {
            let is_loose = !path.ends_with("SKILL.md");
            let path = self.0.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            let source = SourceInfo {
                path: path.clone(),
                source: "auto".to_owned(),
                scope: Scope::User,
                packaging: Packaging::TopLevel,
                base_folder: None,
            };
            ResourceFile { path, source, is_loose }
        }
    }

    #[track_caller]
    fn check(path: &str, text: &str, name: Option<&str>, problem: Option<&str>) {
        let folder = Folder::new();
        let mut problems = Vec::new();
        let skills = load(vec![folder.file(path, text)], None, &mut problems);
        assert_eq!(skills.first().map(|skill| skill.name.as_str()), name, "{text}");
        assert_eq!(problems.is_empty(), problem.is_none(), "{problems:?}");
        if let Some(problem) = problem {
            assert!(problems.iter().any(|found| found.contains(problem)), "{problems:?}");
        }
    }

    #[test]
    fn skill_has_its_own_name_or_that_of_its_folder() {
        check("a/SKILL.md", "---\nname: own\ndescription: d\n---\nx", Some("own"), None);
        check("folder/SKILL.md", "---\ndescription: d\n---\nx", Some("folder"), None);
        check("skills/loose.md", "---\ndescription: d\n---\nx", Some("skills"), None);
    }

    #[test]
    fn skill_without_description_is_not_used() {
        check("a/SKILL.md", "---\nname: a\n---\nx", None, Some("it has no description"));
        check("a/SKILL.md", "no front matter", None, Some("it has no description"));
        check("skills/README.md", "# Notes", None, None);
    }

    #[test]
    fn unusual_names_and_long_descriptions_only_warn() {
        let skill =
            |name: &str, description: &str| format!("---\nname: {name}\ndescription: {description}\n---\nx");
        for (name, problem) in
            [("Bad_Name", "other characters"), ("-a", "hyphen"), ("a-", "hyphen"), ("a--b", "two in a row")]
        {
            check("a/SKILL.md", &skill(name, "d"), Some(name), Some(problem));
        }
        let long = "n".repeat(65);
        check("a/SKILL.md", &skill(&long, "d"), Some(&long), Some("more than 64 characters"));
        check("a/SKILL.md", &skill("a", &"d".repeat(1025)), Some("a"), Some("more than 1024 characters"));
        check("a/SKILL.md", &skill("two words", "d"), None, Some("no prompt could name it"));
    }

    #[test]
    fn first_skill_of_a_name_counts_and_names_can_be_selected() {
        let folder = Folder::new();
        let text = |name: &str| format!("---\nname: {name}\ndescription: d\n---\nx");
        let files = vec![
            folder.file("1/SKILL.md", &text("same")),
            folder.file("2/SKILL.md", &text("same")),
            folder.file("3/SKILL.md", &text("other")),
        ];
        let mut problems = Vec::new();
        let skills = load(files.clone(), None, &mut problems);
        assert_eq!(skills.iter().map(|skill| &*skill.name).collect::<Vec<_>>(), ["same", "other"]);
        assert!(skills[0].path.ends_with("1/SKILL.md") && problems.len() == 1, "{problems:?}");
        let only = load(files, Some(&["oth*".to_owned()]), &mut Vec::new());
        assert_eq!(only.iter().map(|skill| &*skill.name).collect::<Vec<_>>(), ["other"]);
    }

    #[test]
    fn prompt_has_the_instructions_and_what_the_user_wrote() {
        let folder = Folder::new();
        let file = folder.file("mine/SKILL.md", "---\ndescription: d\n---\n\nBODY of skill\n\n");
        let path = file.path.display().to_string();
        let dir = file.path.parent().unwrap().display().to_string();
        let skill = load(vec![file], None, &mut Vec::new()).remove(0);
        let expected = format!(
            "<skill name=\"mine\" location=\"{path}\">\nReferences are relative to {dir}.\n\nBODY of skill\n</skill>"
        );
        assert_eq!(prompt(&skill, " ").unwrap(), expected);
        assert_eq!(prompt(&skill, "do it  ").unwrap(), format!("{expected}\n\ndo it"));
        std::fs::write(&skill.path, "x".repeat(600_000)).unwrap();
        assert!(prompt(&skill, "").is_err());
    }

    #[test]
    fn section_is_escaped_and_bounded_and_leaves_out_what_only_the_user_may_name() {
        let folder = Folder::new();
        let text = |more: &str| format!("---\ndescription: A <skill> & \"more\"\n{more}---\nx");
        let files = vec![
            folder.file("shown/SKILL.md", &text("")),
            folder.file("hidden/SKILL.md", &text("disable-model-invocation: true\n")),
        ];
        let skills = load(files, None, &mut Vec::new());
        let listed = section(&skills);
        assert!(
            listed.contains("<description>A &lt;skill&gt; &amp; &quot;more&quot;</description>"),
            "{listed}"
        );
        assert!(listed.contains("shown/SKILL.md</location>") && !listed.contains("hidden"), "{listed}");
        assert_eq!(section(&skills[1..]), "");
        let many: Vec<_> = std::iter::repeat_n(skills[0].clone(), 1000).collect();
        let listed = section(&many);
        assert!(listed.len() < 25_000 && listed.contains(" more skills are not listed"), "{}", listed.len());
    }
}
