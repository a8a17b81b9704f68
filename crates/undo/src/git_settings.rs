//! Whether git changes contents between its objects and the files: what its settings and attributes say.
//!
//! They are only searched for the words that matter. Whatever is in doubt counts as a change, which costs a copy.

use std::path::{Path, PathBuf};

/// The most that is read of a file with settings or attributes.
pub(crate) const MAX_TEXT: u64 = 256 * 1024;

/// How many files with settings may name one another.
const MAX_INCLUDES: usize = 20;

/// How the content of a file may differ from its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Conversion {
    None,
    /// Only in the ends of lines: if it has the size of its object, it is the same.
    Lines,
    Any,
}

/// The folders that a repository's settings are in.
pub(crate) struct Places<'a> {
    /// The folder that has the `.git`.
    pub top: &'a Path,
    pub workspace: &'a Path,
    /// The `.git` of this worktree.
    pub own: &'a Path,
    /// The `.git` that all worktrees share.
    pub shared: &'a Path,
    pub home: Option<&'a Path>,
}

/// Returns how files may differ from their objects. `attributes` are the `.gitattributes` that the workspace has or should
/// have.
pub(crate) fn conversion(places: &Places<'_>, attributes: impl Iterator<Item = PathBuf>) -> Conversion {
    let mut settings = Settings { home: places.home, ..Settings::default() };
    for name in ["config", "config.worktree"] {
        let is_needed = name == "config";
        settings.read(&places.shared.join(name), Reach::Repository, is_needed);
        settings.read(&places.own.join(name), Reach::Repository, false);
    }
    settings.read(Path::new("/etc/gitconfig"), Reach::User, false);
    if let Some(home) = places.home {
        settings.read(&home.join(".gitconfig"), Reach::User, false);
        settings.read(&home.join(".config/git/config"), Reach::User, false);
    }
    let mut found = settings.conversion;
    let mut files = settings.attributes;
    files.extend([places.shared.join("info/attributes"), PathBuf::from("/etc/gitattributes")]);
    files.extend(places.home.map(|home| home.join(".config/git/attributes")));
    // Those of the folders around the workspace apply as well.
    let around = places.workspace.ancestors().take_while(|folder| folder.starts_with(places.top));
    files.extend(around.map(|folder| folder.join(".gitattributes")));
    for path in files.iter().filter(|path| path.symlink_metadata().is_ok()) {
        found = found.max(conversion_by_attributes(path));
    }
    for path in attributes {
        found = found.max(conversion_by_attributes(&path));
    }
    found
}

/// Returns how a file with attributes says that files differ from their objects.
pub(crate) fn conversion_by_attributes(path: &Path) -> Conversion {
    // Git takes a file that is missing from its index.
    let Ok(text) = bowline_files::read(path, MAX_TEXT) else { return Conversion::Any };
    let text = String::from_utf8_lossy(&text).to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&["filter", "working-tree-encoding", "ident"]) {
        Conversion::Any
    } else if has(&["text", "eol", "crlf"]) {
        Conversion::Lines
    } else {
        Conversion::None
    }
}

/// Whose settings a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Repository,
    User,
}

#[derive(Debug)]
struct Settings<'a> {
    home: Option<&'a Path>,
    conversion: Conversion,
    /// Other files with attributes.
    attributes: Vec<PathBuf>,
    files: usize,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Self { home: None, conversion: Conversion::None, attributes: Vec::new(), files: 0 }
    }
}

impl Settings<'_> {
    fn add(&mut self, conversion: Conversion) {
        self.conversion = self.conversion.max(conversion);
    }

    fn read(&mut self, path: &Path, reach: Reach, is_needed: bool) {
        let text = match bowline_files::read(path, MAX_TEXT) {
            Err(error) if error.is_not_found() && !is_needed => return,
            Err(_) => return self.add(Conversion::Any),
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
        };
        self.files += 1;
        if self.files > MAX_INCLUDES {
            return self.add(Conversion::Any);
        }
        let mut section = String::new();
        for line in text.lines().map(str::trim) {
            let mut line = line;
            if let Some((name, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
                section = name.trim().to_owned();
                self.enter(&section, reach);
                line = rest.trim();
            }
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            self.set(path, reach, &section.to_lowercase(), &key.trim().to_lowercase(), value.trim());
        }
    }

    fn enter(&mut self, section: &str, reach: Reach) {
        let lowercase = section.to_lowercase();
        // A filter works only where attributes name it. Those of Git LFS are in `.gitattributes`, which are looked at.
        let is_harmless = reach == Reach::User && lowercase.replace(' ', "") == "filter\"lfs\"";
        if lowercase.starts_with("filter") && !is_harmless {
            self.add(Conversion::Any);
        }
    }

    fn set(&mut self, file: &Path, reach: Reach, section: &str, key: &str, value: &str) {
        match (section, key) {
            ("core", "autocrlf" | "eol" | "safecrlf") => self.add(Conversion::Lines),
            ("core", "attributesfile") => match self.resolve(file, value) {
                Some(path) => self.attributes.push(path),
                None => self.add(Conversion::Any),
            },
            (_, "objectformat" | "alternaterefscommand" | "alternaterefsprefixes") => {
                self.add(Conversion::Any);
            }
            (section, "path") if section.starts_with("include") => match self.resolve(file, value) {
                Some(path) => self.read(&path, reach, false),
                None => self.add(Conversion::Any),
            },
            _ => {}
        }
    }

    /// Returns the path that a setting names.
    fn resolve(&self, file: &Path, value: &str) -> Option<PathBuf> {
        let value = value.trim_matches('"');
        if value.is_empty() || value.contains(['"', '\\', '#', ';', '%']) {
            return None;
        }
        match value.strip_prefix("~/") {
            Some(below) => Some(self.home?.join(below)),
            None if value.starts_with('~') => None,
            None => Some(file.parent()?.join(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: Conversion) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for folder in ["home/.config/git", "top/.git/info", "top/between/work"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("top/.git/config"), "[core]\n\tbare = false\n").unwrap();
        for (name, text) in files {
            std::fs::write(root.join(name), text).unwrap();
        }
        let (top, git) = (root.join("top"), root.join("top/.git"));
        let (workspace, home) = (root.join("top/between/work"), root.join("home"));
        let places = Places { top: &top, workspace: &workspace, own: &git, shared: &git, home: Some(&home) };
        assert_eq!(conversion(&places, std::iter::empty()), expected, "{files:?}");
    }

    #[test]
    fn every_place_that_git_reads_is_looked_at() {
        use Conversion::{Any, Lines, None};
        check(&[], None);
        for place in [
            "top/.git/info/attributes",
            "top/.gitattributes",
            "top/between/.gitattributes",
            "top/between/work/.gitattributes",
            "home/.config/git/attributes",
        ] {
            check(&[(place, "*.txt filter=secret\n")], Any);
            check(&[(place, "* text=auto\n")], Lines);
            check(&[(place, "*.png binary\n")], None);
        }
        check(&[("home/.gitconfig", "[core]\n  attributesFile = ~/mine\n"), ("home/mine", "* ident")], Any);
        check(&[("top/.git/config", "[core]\n autocrlf = input\n")], Lines);
        check(&[("home/.config/git/config", "[core]\n autocrlf = true\n")], Lines);
        check(&[("top/.git/config", "[filter \"rot\"]\n clean = tr a b\n")], Any);
        check(&[("top/.git/config.worktree", "[filter \"rot\"]\n clean = tr a b\n")], Any);
        check(&[("home/.gitconfig", "[filter \"rot\"]\n clean = tr a b\n")], Any);
        check(&[("home/.gitconfig", "[filter \"lfs\"]\n clean = git-lfs clean\n")], None);
        check(&[("top/.git/config", "[extensions]\n objectFormat = sha256\n")], Any);
    }

    #[test]
    fn included_settings_are_read_or_count_as_doubtful() {
        let include = ("home/.gitconfig", "[includeIf \"gitdir:~/work/\"]\n path = more\n");
        check(&[include, ("home/more", "[user]\n name = me\n")], Conversion::None);
        check(&[include, ("home/more", "[core]\n autocrlf = true\n")], Conversion::Lines);
        check(&[("home/.gitconfig", "[include]\n path = ~other/more\n")], Conversion::Any);
        check(&[("home/.gitconfig", "[include]\n path = .gitconfig\n")], Conversion::Any);
    }
}
