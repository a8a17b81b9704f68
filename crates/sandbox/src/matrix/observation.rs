//! How the victims of an attempt are, as seen from outside.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What is looked at: a name for people, and how it is.
pub(super) type Observation = BTreeMap<String, String>;

/// How closely files are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Everything that a program can change of them.
    All,
    /// What they are and what is in them: they may have been put back.
    Content,
}

/// Adds a file or a folder with everything in it.
pub(super) fn look_at(observation: &mut Observation, name: &str, path: &Path, detail: Detail) {
    let Ok(status) = path.symlink_metadata() else { return };
    let kind = status.file_type();
    let content = match () {
        () if kind.is_symlink() => {
            fs::read_link(path).unwrap_or_else(|_| PathBuf::new()).display().to_string()
        }
        () if kind.is_file() => {
            let bytes = fs::read(path).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        }
        () => String::new(),
    };
    let mut text = format!("{:o} {} {} {content:?}", status.mode(), status.uid(), status.gid());
    if detail == Detail::All {
        let times =
            format!(" {}.{} {}.{}", status.mtime(), status.mtime_nsec(), status.ctime(), status.ctime_nsec());
        text.push_str(&times);
        text.push_str(&format!(" {} links", status.nlink()));
    }
    observation.insert(name.to_owned(), text);
    if kind.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            look_at(observation, &name, &entry.path(), detail);
        }
    }
}

/// Returns what is different, as people say it.
pub(super) fn differences(before: &Observation, after: &Observation) -> Vec<String> {
    let mut found: Vec<String> = after
        .iter()
        .filter_map(|(name, state)| match before.get(name) {
            None => Some(format!("{name} appeared")),
            Some(old) if old != state => Some(format!("{name} changed")),
            Some(_) => None,
        })
        .collect();
    found.extend(
        before.keys().filter(|name| !after.contains_key(*name)).map(|name| format!("{name} is gone")),
    );
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observe(path: &Path, detail: Detail) -> Observation {
        let mut observation = Observation::new();
        look_at(&mut observation, "folder", path, detail);
        observation
    }

    #[test]
    fn every_kind_of_change_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let (kept, gone) = (folder.path().join("kept"), folder.path().join("gone"));
        fs::write(&kept, "a").unwrap();
        fs::write(&gone, "a").unwrap();
        let before = observe(folder.path(), Detail::Content);
        assert_eq!(differences(&before, &observe(folder.path(), Detail::Content)), Vec::<String>::new());
        fs::write(&kept, "b").unwrap();
        fs::remove_file(&gone).unwrap();
        fs::write(folder.path().join("new"), "").unwrap();
        let differences = differences(&before, &observe(folder.path(), Detail::Content));
        assert_eq!(differences, ["folder/kept changed", "folder/new appeared", "folder/gone is gone"]);
    }

    #[test]
    fn change_of_metadata_alone_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "a").unwrap();
        let before = observe(&file, Detail::All);
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::os::unix::fs::chown(&file, Some(fs::metadata(&file).unwrap().uid()), None).unwrap();
        assert_eq!(differences(&before, &observe(&file, Detail::All)).len(), 1);
    }
}
