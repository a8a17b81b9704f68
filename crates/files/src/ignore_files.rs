//! What `.gitignore`, `.ignore` and git's own exclude files leave out of a search.
//!
//! The files come from the workspace, so they are read like any that others have placed: what is no regular file, or
//! a link out of the workspace, is left alone, and of a large one only the beginning counts.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The most that is read of one file. Real ones have some hundred lines.
const SIZE_LIMIT: u64 = 64 * 1024;

/// The most that counts of all files which apply to a folder: rules take hundreds of times the memory of their text. Rules
/// beyond it are not read, and what they exclude is found.
const TOTAL_LIMIT: u64 = 128 * 1024;

/// The rules that apply to the contents of a folder: its own and those of the folders around it, innermost last.
#[derive(Debug, Default)]
pub struct IgnoreRules {
    levels: Vec<Level>,
    /// The user's own rules for all repositories.
    global: Option<Gitignore>,
}

/// The rules in one folder.
#[derive(Debug, Default)]
struct Level {
    ignore: Option<Gitignore>,
    git: Option<Gitignore>,
    /// The rules that are not shared with others, in `.git/info/exclude`.
    exclude: Option<Gitignore>,
    /// Whether the rules of git in the folders around it do not apply.
    is_repository: bool,
    /// The size of their text.
    size: u64,
}

impl IgnoreRules {
    /// Returns the rules that apply to `root` itself: those of the folders around it, up to the root of the repository
    /// or, without one, up to the working directory. `home` is where the user's own rules are.
    pub fn around(root: &Path, working_directory: &Path, home: Option<&Path>) -> Self {
        let around: Vec<_> = root.ancestors().collect();
        let in_repository = around.iter().position(|folder| is_repository(folder));
        let outermost =
            in_repository.or_else(|| around.iter().position(|folder| *folder == working_directory));
        let top = outermost.map_or(root, |index| around[index]);
        let global = home.and_then(|home| read_global(home, top));
        let mut rules = Self { levels: Vec::new(), global };
        for folder in around[..=outermost.unwrap_or(0)].iter().skip(1).rev() {
            rules.read(folder, top);
        }
        rules
    }

    /// Adds the rules of a folder, as far as they fit.
    fn read(&mut self, folder: &Path, top: &Path) {
        let taken: u64 = self.levels.iter().map(|level| level.size).sum();
        self.levels.push(Level::read(folder, top, TOTAL_LIMIT.saturating_sub(taken)));
    }

    /// Adds the rules of a folder, of which the names are known. `top` is what links must not leave.
    pub fn enter<'a>(&mut self, folder: &Path, top: &Path, mut names: impl Iterator<Item = &'a OsStr>) {
        let has_any = names.any(|name| name == ".gitignore" || name == ".ignore" || name == ".git");
        if has_any {
            self.read(folder, top);
        } else {
            self.levels.push(Level::default());
        }
    }

    /// Removes the rules of the folder that was entered last.
    pub fn leave(&mut self) {
        self.levels.pop();
    }

    /// Returns whether a path directly in the folder that was entered last is left out.
    pub fn leave_out(&self, path: &Path, is_directory: bool) -> bool {
        let matched = |rules: &Option<Gitignore>| match rules {
            Some(rules) => rules.matched(path, is_directory).map(|_| ()),
            None => Match::None,
        };
        let nearest = |of: fn(&Level) -> &Option<Gitignore>, stops: bool| {
            for level in self.levels.iter().rev() {
                match matched(of(level)) {
                    Match::None if stops && level.is_repository => return Match::None,
                    Match::None => {}
                    decided => return decided,
                }
            }
            Match::None
        };
        nearest(|level| &level.ignore, false)
            .or(nearest(|level| &level.git, true))
            .or(nearest(|level| &level.exclude, true))
            .or(matched(&self.global))
            .is_ignore()
    }
}

impl Level {
    /// Reads the rules in a folder, of which at most `room` bytes count.
    fn read(folder: &Path, top: &Path, room: u64) -> Self {
        let is_repository = is_repository(folder);
        let mut size = 0;
        let mut read = |name: &str| {
            let path = folder.join(name);
            let file = crate::open_within(top, &path).ok()?;
            let text = text(file, &path, SIZE_LIMIT.min(room - size))?;
            size += text.len() as u64;
            rules(folder, &text)
        };
        let (ignore, git) = (read(".ignore"), read(".gitignore"));
        let exclude = if is_repository { read(".git/info/exclude") } else { None };
        Self { ignore, git, exclude, is_repository, size }
    }
}

fn is_repository(folder: &Path) -> bool {
    folder.join(".git").symlink_metadata().is_ok()
}

/// Returns the user's rules for all repositories, from the file that git's settings name, or from git's usual one.
fn read_global(home: &Path, top: &Path) -> Option<Gitignore> {
    let named = [".gitconfig", ".config/git/config"].iter().find_map(|name| {
        let path = home.join(name);
        let text = text(crate::open(&path).ok()?, &path, SIZE_LIMIT)?;
        let value = text.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            key.trim().eq_ignore_ascii_case("excludesfile").then(|| value.trim().trim_matches('"').to_owned())
        })?;
        Some(value.strip_prefix("~/").map_or_else(|| PathBuf::from(&value), |rest| home.join(rest)))
    });
    let path = named.unwrap_or_else(|| home.join(".config/git/ignore"));
    rules(top, &text(crate::open(&path).ok()?, &path, SIZE_LIMIT)?)
}

/// Returns the whole lines at the beginning of a file, of at most `limit` bytes.
fn text(file: File, path: &Path, limit: u64) -> Option<String> {
    let beginning = crate::read_beginning(file, path, limit).ok()?;
    let mut text = String::from_utf8_lossy(&beginning.bytes).into_owned();
    text.truncate(text.floor_char_boundary(usize::try_from(limit).unwrap_or(usize::MAX)));
    if beginning.is_cut {
        text.truncate(text.rfind('\n').unwrap_or(0));
    }
    Some(text)
}

/// Returns the rules in a file, which apply to paths below `folder`. Invalid lines are skipped.
fn rules(folder: &Path, text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}
