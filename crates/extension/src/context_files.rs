//! `AGENTS.md` and similar files: standing instructions from the user or a project to every agent.
//!
//! Whoever can write to a project chooses what these names stand for, and their text goes to a model. So those of a
//! project are regular files inside it, and which parents are searched does not depend on who else uses the machine.

use std::path::{Path, PathBuf};

use bowline_files::Error;

use crate::project::Project;

/// The file names in order of precedence; only the first one found in a folder counts.
const NAMES: [&str; 5] = ["AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"];

/// The most that is read of a file: instructions are prose, and every request to the model pays for them.
const SIZE_LIMIT: u64 = 256 * 1024;

/// Where context files are searched.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The folder with the user's own file, which may be a link to anywhere. An empty path means that there is none.
    pub own: &'a Path,
    /// The user's home directory, whose parents belong to others.
    pub home: Option<&'a Path>,
    /// The folder that the agent works in.
    pub working: &'a Path,
}

/// A context file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    pub path: PathBuf,
    pub text: Result<String, NotRead>,
}

/// Why a file that exists was not read, as a sentence without its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRead(pub String);

/// Returns the user's context file and then those of the project, from its outermost folder down to the working one, so
/// that the most specific instructions come last. Blocks as long as the disk does.
pub fn load(places: Places<'_>) -> Vec<ContextFile> {
    let own = Some(places.own).filter(|own| !own.as_os_str().is_empty());
    let mut files: Vec<ContextFile> = own.and_then(|own| read_first(own, None)).into_iter().collect();
    let project = Project::around(places.working, places.home);
    for folder in project.folders.iter().rev() {
        let root = project.root.unwrap_or(folder);
        if let Some(file) = read_first(folder, Some(root))
            && !files.iter().any(|seen| seen.path == file.path)
        {
            files.push(file);
        }
    }
    files
}

/// Reads the first file of a folder that exists. With a `root`, links out of it are refused.
fn read_first(folder: &Path, root: Option<&Path>) -> Option<ContextFile> {
    NAMES.iter().map(|name| folder.join(name)).find_map(|path| match read(&path, root) {
        Ok(text) => Some(ContextFile { path, text: Ok(text) }),
        Err(error) if error.is_not_found() || error.is_folder() => None,
        Err(error) => {
            let reason = NotRead(reason(error));
            Some(ContextFile { path, text: Err(reason) })
        }
    })
}

fn read(path: &Path, root: Option<&Path>) -> Result<String, Error> {
    let file = match root {
        None => bowline_files::open(path)?,
        Some(root) => {
            let file = bowline_files::open_within(root, path)?;
            // What git keeps there can hold passwords, and a link to it survives a clone.
            let real = bowline_files::real_path(&file, path)?;
            let inside =
                root.canonicalize().ok().and_then(|root| real.strip_prefix(root).ok().map(Path::to_owned));
            if inside.is_none_or(|inside| inside.iter().any(|part| part == ".git")) {
                return Err(Error::OutsideFolder { path: path.to_owned(), folder: root.to_owned() });
            }
            file
        }
    };
    let beginning = bowline_files::read_beginning(file, path, SIZE_LIMIT)?;
    let mut text = String::from_utf8_lossy(&beginning.bytes).into_owned();
    if beginning.is_cut {
        text.push_str("\n[The rest of this file is not shown: it is larger than 256 KiB.]");
    }
    Ok(text)
}

/// Returns why a file was not read, without repeating its path.
fn reason(error: Error) -> String {
    match error {
        Error::NotRegular { kind, .. } => format!("it is {kind}, not a regular file"),
        Error::OutsideFolder { folder, .. } => format!("it is a link that leaves {}", folder.display()),
        other => other.into_io().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Folders `home/.bowline`, `home/group/project/inner`; the temporary folder is private.
    struct Tree {
        root: tempfile::TempDir,
    }

    impl Tree {
        fn new(files: &[(&str, &str)]) -> Self {
            let root = tempfile::tempdir().unwrap();
            for folder in ["home/.bowline", "home/group/project/inner"] {
                fs::create_dir_all(root.path().join(folder)).unwrap();
            }
            let tree = Self { root };
            for (path, text) in files {
                tree.write(path, text);
            }
            tree
        }

        fn path(&self, path: &str) -> PathBuf {
            self.root.path().join(path)
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// Returns the texts, or why they were not read, for a working folder.
        fn load(&self, working: &str) -> Vec<String> {
            let (own, home, working) = (self.path("home/.bowline"), self.path("home"), self.path(working));
            let files = load(Places { own: &own, home: Some(&home), working: &working });
            files.into_iter().map(|file| file.text.unwrap_or_else(|NotRead(reason)| reason)).collect()
        }
    }

    #[test]
    fn most_specific_instructions_come_last_and_one_file_per_folder_counts() {
        let tree = Tree::new(&[
            ("home/.bowline/AGENTS.md", "mine"),
            ("home/group/CLAUDE.md", "outer"),
            ("home/group/project/AGENTS.md", "inner"),
            ("home/group/project/CLAUDE.md", "not read"),
        ]);
        assert_eq!(tree.load("home/group/project"), ["mine", "outer", "inner"]);
    }

    #[test]
    fn parents_end_at_the_repository_or_else_at_the_home_directory() {
        let names = ["AGENTS.md", "home/AGENTS.md", "home/group/AGENTS.md", "home/group/project/AGENTS.md"];
        let tree = Tree::new(&names.map(|name| (name, name)));
        assert_eq!(tree.load("home/group/project/inner"), names[1..]);
        tree.write("home/group/.git/HEAD", "");
        assert_eq!(tree.load("home/group/project/inner"), names[2..]);
        // A worktree has a file instead of a folder.
        tree.write("home/group/project/.git", "gitdir: elsewhere");
        assert_eq!(tree.load("home/group/project/inner"), names[3..]);
    }

    #[test]
    fn outside_the_home_directory_only_a_repository_extends_the_search() {
        let tree = Tree::new(&[("work/AGENTS.md", "outer"), ("work/project/AGENTS.md", "inner")]);
        assert_eq!(tree.load("work/project"), ["inner"]);
        tree.write("work/.git/HEAD", "");
        assert_eq!(tree.load("work/project"), ["outer", "inner"]);
    }

    #[test]
    #[cfg(unix)]
    fn folder_that_every_user_may_write_to_is_no_parent() {
        use std::os::unix::fs::PermissionsExt as _;
        let tree = Tree::new(&[("shared/AGENTS.md", "planted"), ("shared/project/AGENTS.md", "mine")]);
        tree.write("shared/.git/HEAD", "");
        fs::set_permissions(tree.path("shared"), fs::Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(tree.load("shared/project"), ["mine"]);
    }

    #[test]
    #[cfg(unix)]
    fn project_file_may_link_only_within_the_project() {
        use std::os::unix::fs::symlink;
        let tree = Tree::new(&[
            ("home/secret", "s"),
            ("home/group/docs/rules", "rules"),
            ("home/group/.git/config", "password"),
        ]);
        symlink("../docs/rules", tree.path("home/group/project/AGENTS.md")).unwrap();
        symlink("../../../secret", tree.path("home/group/project/inner/AGENTS.md")).unwrap();
        let loaded = tree.load("home/group/project/inner");
        assert_eq!(loaded[0], "rules");
        assert!(loaded[1].starts_with("it is a link that leaves"), "{loaded:?}");
        fs::remove_file(tree.path("home/group/project/AGENTS.md")).unwrap();
        symlink("../.git/config", tree.path("home/group/project/AGENTS.md")).unwrap();
        assert!(tree.load("home/group/project")[0].starts_with("it is a link that leaves"));
        // The user's own file often is one in a repository of settings.
        symlink("../secret", tree.path("home/.bowline/AGENTS.md")).unwrap();
        assert_eq!(tree.load("home/group/project")[0], "s");
    }

    #[test]
    fn long_file_is_cut_with_a_note() {
        let tree = Tree::new(&[("home/group/project/AGENTS.md", &"x".repeat(300_000))]);
        let text = &tree.load("home/group/project")[0];
        assert!(text.ends_with("larger than 256 KiB.]") && text.len() < 263_000, "{}", text.len());
    }
}
