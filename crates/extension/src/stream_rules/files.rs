//! Finding the files of rules. Those of a project are instructions like `AGENTS.md`: whoever can write to it chooses what
//! their names stand for, so they are regular files inside it, small, and few.

use std::path::{Path, PathBuf};

use bowline_core::stream_rule::RuleOrigin;
use bowline_files::Error;

use super::Places;

/// The most names of a folder that are looked at, and the largest file.
const MAX_NAMES: usize = 1000;
const SIZE_LIMIT: u64 = 64 * 1024;

/// The longest name of a rule.
const LONGEST_NAME: usize = 200;

/// The folders of a project that hold rules, in order of precedence.
const PROJECT_FOLDERS: [(&str, RuleOrigin); 7] = [
    (".bowline/rules", origin("bowline", "bowline")),
    (".omp/rules", origin("native", "OMP")),
    (".cursor/rules", origin("cursor", "Cursor")),
    (".windsurf/rules", origin("windsurf", "Windsurf")),
    (".clinerules", origin("cline", "Cline")),
    (".agent/rules", origin("agents", "Agents")),
    (".agents/rules", origin("agents", "Agents")),
];

const fn origin(program: &'static str, program_name: &'static str) -> RuleOrigin {
    RuleOrigin { program, program_name, is_own: false }
}

/// A file that may be a rule.
#[derive(Debug)]
pub(super) struct RuleFile {
    pub name: String,
    pub path: PathBuf,
    pub text: String,
    pub origin: RuleOrigin,
}

/// Returns the files in order of precedence: the user's own first, so that no project can replace them.
pub(super) fn find(places: &Places, warnings: &mut Vec<String>) -> Vec<RuleFile> {
    let own = RuleOrigin { is_own: true, ..origin("bowline", "bowline") };
    let mut found = read_folder(&places.own.join("rules"), own, None, warnings);
    for (folder, origin) in PROJECT_FOLDERS {
        let folder = places.working.join(folder);
        found.extend(read_folder(&folder, origin, Some(&places.working), warnings));
    }
    found
}

/// Reads the Markdown files of a folder, in the order of their names. With a `root`, links out of it are refused.
fn read_folder(
    folder: &Path,
    origin: RuleOrigin,
    root: Option<&Path>,
    warnings: &mut Vec<String>,
) -> Vec<RuleFile> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<_> =
        entries.take(MAX_NAMES).filter_map(|entry| Some(entry.ok()?.file_name())).collect();
    names.sort_unstable();
    let mut files = Vec::new();
    for name in names {
        let path = folder.join(&name);
        let is_markdown = path.extension().is_some_and(|ending| ending == "md" || ending == "mdc");
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_markdown) else {
            continue;
        };
        if stem.len() > LONGEST_NAME {
            warnings.push(format!("{}: the name is longer than {LONGEST_NAME} bytes", folder.display()));
            continue;
        }
        match read(&path, root) {
            Ok(text) => files.push(RuleFile { name: stem.to_owned(), text, origin, path }),
            Err(error) if error.is_not_found() || error.is_folder() => {}
            Err(error) => warnings.push(format!("the rule is not used: {error}")),
        }
    }
    files
}

fn read(path: &Path, root: Option<&Path>) -> Result<String, Error> {
    let file = match root {
        None => bowline_files::open(path)?,
        Some(root) => bowline_files::open_within(root, path)?,
    };
    let beginning = bowline_files::read_beginning(file, path, SIZE_LIMIT)?;
    if beginning.is_cut {
        return Err(Error::TooLarge { path: path.to_owned(), limit: SIZE_LIMIT });
    }
    String::from_utf8(beginning.bytes).map_err(|_| Error::NotText { path: path.to_owned() })
}
