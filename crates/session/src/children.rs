//! The sessions of subagents. They are in a folder beside their parent's file that has the name of that file without its
//! ending, so lists of sessions, which look at files only, do not show them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::file::SessionFile;
use crate::store::{look_at, session_files};

/// How deep subagents of subagents are looked for. Nobody nests them that deep.
const DEEPEST: usize = 16;

/// A session of a subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    pub file: PathBuf,
    pub id: String,
}

/// Returns the folder for the sessions of the subagents of the session in `file`.
pub fn children_folder(file: &Path) -> PathBuf {
    file.with_extension("")
}

/// Returns the sessions of the subagents of the session in `file`, each followed by those of its own subagents. A
/// session that names another parent is not one of them, wherever it is.
pub fn children_of(file: &Path) -> Result<Vec<Child>, Error> {
    let mut children = Vec::new();
    collect(file, DEEPEST, &mut children)?;
    Ok(children)
}

fn collect(parent: &Path, depth: usize, children: &mut Vec<Child>) -> Result<(), Error> {
    let folder = children_folder(parent);
    // A file without an ending would be its own folder.
    if depth == 0 || folder == parent || !folder.is_dir() {
        return Ok(());
    }
    for file in session_files(&folder)? {
        let Some(found) = look_at(file) else { continue };
        // Sessions can be moved, but keep the names of their files.
        let named = found.header.parent_session.as_deref().map(Path::new).and_then(Path::file_name);
        if named != parent.file_name() {
            continue;
        }
        children.push(Child { file: found.file.clone(), id: found.header.id });
        collect(&found.file, depth - 1, children)?;
    }
    Ok(())
}

/// Deletes the sessions of the subagents of the session in `file`, and their folders if nothing else is in them.
/// Returns the ids. What cannot be deleted stays.
pub(crate) fn delete_children(file: &Path) -> Vec<String> {
    let children = children_of(file).unwrap_or_default();
    let mut ids = Vec::new();
    for child in children.iter().rev() {
        let Ok(_lock) = SessionFile::open(&child.file) else { continue };
        if fs::remove_file(&child.file).is_ok() {
            ids.push(child.id.clone());
        }
        let _ = fs::remove_dir(children_folder(&child.file));
    }
    let _ = fs::remove_dir(children_folder(file));
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layout, Store};

    /// Writes a session and returns its file.
    fn add(folder: &Path, name: &str, parent: Option<&Path>) -> PathBuf {
        fs::create_dir_all(folder).unwrap();
        let file = folder.join(format!("{name}.jsonl"));
        let parent =
            parent.map(|parent| format!(r#","parentSession":"{}""#, parent.display())).unwrap_or_default();
        let header = format!(r#"{{"type":"session","version":3,"id":"{name}","cwd":"/w"{parent}}}"#);
        fs::write(&file, header + "\n").unwrap();
        file
    }

    #[test]
    fn children_are_found_deleted_with_their_parent_and_not_listed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().to_owned(), Layout::Flat);
        let parent = add(folder.path(), "one", None);
        let child = add(&children_folder(&parent), "child", Some(&parent));
        let nested = add(&children_folder(&child), "nested", Some(&child));
        let other = add(folder.path(), "two", None);
        let ids = |file: &Path| children_of(file).unwrap().into_iter().map(|child| child.id);
        assert_eq!(ids(&parent).collect::<Vec<_>>(), ["child", "nested"]);
        assert_eq!(ids(&other).count(), 0);
        assert_eq!(store.all_files().unwrap(), [parent.clone(), other.clone()]);

        assert_eq!(store.delete(&parent).unwrap(), ["one", "nested", "child"]);
        assert!(!child.exists() && !nested.exists() && !children_folder(&parent).exists());
        assert!(other.exists());
    }

    #[test]
    fn files_that_are_no_children_stay() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().to_owned(), Layout::Flat);
        let parent = add(folder.path(), "src", None);
        let source = children_folder(&parent);
        let stranger = add(&source, "stranger", Some(Path::new("/else/other.jsonl")));
        let orphan = add(&source, "orphan", None);
        fs::write(source.join("main.rs"), "fn main() {}").unwrap();
        assert_eq!(children_of(&parent).unwrap(), []);
        assert_eq!(store.delete(&parent).unwrap(), ["src"]);
        assert!(stranger.exists() && orphan.exists() && source.join("main.rs").exists());
    }
}
