//! `AGENTS.md` and similar files: standing instructions from the user or a project to every agent.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The file names in order of precedence; only the first one found in a folder counts.
const NAMES: [&str; 5] = ["AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"];

/// The most that is read of a file: instructions are prose, and every request to the model pays for them.
const SIZE_LIMIT: u64 = 256 * 1024;

/// A context file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    pub path: PathBuf,
    pub text: String,
}

/// Returns the user's context file, from `home`, and then those of the folders from the file system root down to
/// `directory`, so that the most specific instructions come last.
pub fn load(home: &Path, directory: &Path) -> Vec<ContextFile> {
    let mut folders: Vec<&Path> = directory.ancestors().collect();
    folders.push(home);
    folders.reverse();
    let mut files: Vec<ContextFile> = Vec::new();
    for folder in folders {
        if let Some(file) = read_first(folder)
            && !files.iter().any(|seen| seen.path == file.path)
        {
            files.push(file);
        }
    }
    files
}

fn read_first(folder: &Path) -> Option<ContextFile> {
    NAMES.iter().map(|name| folder.join(name)).find_map(|path| {
        let mut bytes = Vec::new();
        File::open(&path).ok()?.take(SIZE_LIMIT).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Some(ContextFile { path, text })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn most_specific_instructions_come_last_and_one_file_per_folder_counts() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home");
        let project = root.path().join("project/inner");
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&project).unwrap();
        fs::write(home.join("AGENTS.md"), "mine").unwrap();
        fs::write(root.path().join("project/CLAUDE.md"), "outer").unwrap();
        fs::write(project.join("AGENTS.md"), "inner").unwrap();
        fs::write(project.join("CLAUDE.md"), "not read").unwrap();
        let texts: Vec<_> = load(&home, &project).into_iter().map(|file| file.text).collect();
        assert_eq!(texts, ["mine", "outer", "inner"]);
    }
}
