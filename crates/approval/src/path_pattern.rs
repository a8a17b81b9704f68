//! Patterns of paths. A rule that asks or denies must not be evaded by a link, so it is compared with the path as it was
//! given and as it really is, and so is the part of the pattern that names a place. A rule that allows something must not
//! be widened by a link, which a tool may have made: it is compared with the real path only, and as it is written.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::rules::Access;

/// What makes a part of a pattern more than a name.
const WILDCARDS: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// A pattern of paths, and what a tool must do to them.
#[derive(Debug, Clone)]
pub(crate) struct PathPattern {
    /// As it is written.
    pub text: String,
    anchor: Anchor,
    /// The parts before the first one with a wildcard.
    literal: PathBuf,
    /// The other parts; none if the pattern is a path.
    rest: Option<GlobMatcher>,
    /// All parts; none if the pattern is the anchor itself.
    whole: Option<GlobMatcher>,
    pub access: Option<Access>,
}

/// Where a pattern starts.
#[derive(Debug, Clone)]
enum Anchor {
    Project,
    Root,
    Home(PathBuf),
}

/// The path that a call is about.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// With all links followed.
    pub path: PathBuf,
    /// As it was given, but absolute.
    pub given: PathBuf,
    /// What the call does to it.
    pub accesses: &'static [Access],
}

/// A pattern of a rule that asks or denies, and the place that its first parts name.
#[derive(Debug, Clone)]
pub(crate) struct Placed<'rule> {
    pattern: Cow<'rule, PathPattern>,
    /// As it is written, and with all links followed.
    written: PathBuf,
    real: PathBuf,
}

impl Placed<'_> {
    /// Tells whether the rule is about a path, by the path without links and by that as it was given.
    pub fn restricts(&self, path: &Path, given: &Path) -> bool {
        let places = [&self.real, &self.written];
        [path, given].iter().any(|path| places.iter().any(|place| self.pattern.is_below(path, place)))
    }

    /// Returns it without the rule that it is of.
    pub fn into_owned(self) -> Placed<'static> {
        Placed { pattern: Cow::Owned(self.pattern.into_owned()), ..self }
    }
}

impl PathPattern {
    /// Reads a pattern. The error says what is wrong with it.
    pub fn new(path: &str, access: Option<Access>, home: Option<&Path>) -> Result<Self, String> {
        if path.is_empty() || path.contains('\0') {
            return Err("\"path\" must be a pattern of paths".to_owned());
        }
        let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        if parts.iter().any(|part| *part == ".." || *part == ".") {
            return Err(format!("\"path\" {path:?} must not have the parts . and .."));
        }
        let anchor = match (path.starts_with('/'), path.starts_with('~'), home) {
            (true, ..) => Anchor::Root,
            (_, true, Some(home)) if parts[0] == "~" => {
                parts.remove(0);
                Anchor::Home(home.to_owned())
            }
            (_, true, None) if parts[0] == "~" => {
                return Err(format!("\"path\" {path:?}: no home folder is known. Write the whole path"));
            }
            (_, true, _) => {
                return Err(format!(
                    "\"path\" {path:?}: only ~ and ~/ stand for a home folder, which is yours. Write the whole path, or [~] for a name that begins with ~"
                ));
            }
            _ => Anchor::Project,
        };
        let names = parts.iter().take_while(|part| !part.contains(WILDCARDS)).count();
        Ok(Self {
            text: path.to_owned(),
            anchor,
            literal: parts[..names].iter().collect(),
            rest: matcher(&parts[names..])?,
            whole: matcher(&parts)?,
            access,
        })
    }

    /// Tells whether the pattern is about more than the project.
    pub fn is_absolute(&self) -> bool {
        !matches!(self.anchor, Anchor::Project)
    }

    /// Tells whether a rule that asks or denies is about a path. Looks at the file system.
    pub fn restricts(&self, target: &Target, folder: &Path) -> bool {
        self.placed(folder).restricts(&target.path, &target.given)
    }

    /// Returns the pattern with the places that it names, to be compared with many paths. Looks at the file system.
    pub fn placed(&self, folder: &Path) -> Placed<'_> {
        let written = self.place(folder);
        let real = bowline_files::canonical(&written);
        Placed { pattern: Cow::Borrowed(self), written, real }
    }

    /// Tells whether a rule that allows something is about a path. Looks at the file system.
    pub fn allows(&self, target: &Target, folder: &Path) -> bool {
        let anchor = bowline_files::canonical(self.anchor(folder));
        target.path.strip_prefix(anchor).is_ok_and(|relative| matches(self.whole.as_ref(), relative))
    }

    /// Tells whether the pattern is about a path that need not exist.
    pub fn is_like(&self, example: &Path, folder: &Path) -> bool {
        self.is_below(example, &self.place(folder))
    }

    /// Returns the file or folder that the pattern names, or in which everything is that it matches, and whether it is the
    /// latter. Looks at the file system.
    pub fn start(&self, folder: &Path) -> (PathBuf, bool) {
        (bowline_files::canonical(&self.place(folder)), self.rest.is_some())
    }

    /// Tells whether a path is meant, if the parts before the first wildcard lead to `place`.
    pub fn is_below(&self, path: &Path, place: &Path) -> bool {
        path.strip_prefix(place).is_ok_and(|relative| matches(self.rest.as_ref(), relative))
    }

    fn anchor<'path>(&'path self, folder: &'path Path) -> &'path Path {
        match &self.anchor {
            Anchor::Project => folder,
            Anchor::Root => Path::new("/"),
            Anchor::Home(home) => home,
        }
    }

    fn place(&self, folder: &Path) -> PathBuf {
        // Collecting the parts drops an empty one at the end.
        self.anchor(folder).join(&self.literal).components().collect()
    }
}

/// Returns what matches these parts of a pattern; none if there are none.
fn matcher(parts: &[&str]) -> Result<Option<GlobMatcher>, String> {
    if parts.is_empty() {
        return Ok(None);
    }
    let glob = parts.join("/");
    let mut builder = GlobBuilder::new(&glob);
    builder.literal_separator(true).backslash_escape(true);
    let glob = builder.build().map_err(|error| format!("\"path\": {error}"))?;
    Ok(Some(glob.compile_matcher()))
}

/// Tells whether a path or a folder that it is in matches: what is said about a folder is said about everything in it.
fn matches(matcher: Option<&GlobMatcher>, relative: &Path) -> bool {
    let Some(matcher) = matcher else { return true };
    relative.ancestors().filter(|part| !part.as_os_str().is_empty()).any(|part| matcher.is_match(part))
}

/// Returns the pattern that stands for exactly this path.
pub(crate) fn exact_path(path: &Path) -> String {
    let escaped = globset::escape(&path.to_string_lossy());
    match escaped.strip_prefix('~') {
        Some(rest) => format!("[~]{rest}"),
        None => escaped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: &str = "/nowhere/home";
    const PROJECT: &str = "/nowhere/project";

    fn matches(pattern: &str, path: &str) -> bool {
        let pattern = PathPattern::new(pattern, None, Some(Path::new(HOME))).unwrap();
        let (path, accesses): (PathBuf, &[Access]) = (path.into(), &[]);
        let target = Target { given: path.clone(), path, accesses };
        let folder = Path::new(PROJECT);
        let found = pattern.restricts(&target, folder);
        assert_eq!(found, pattern.allows(&target, folder), "{pattern:?} {target:?}");
        found
    }

    #[test]
    fn slashes_at_the_end_and_in_a_row_change_nothing() {
        for pattern in ["secret", "secret/", "secret//", "secret/a", "secret//a", "secret/a/", "sec*/"] {
            assert!(matches(pattern, "/nowhere/project/secret/a"), "{pattern}");
            assert!(!matches(pattern, "/nowhere/project/other/a"), "{pattern}");
        }
        assert!(matches("//etc//passwd", "/etc/passwd") && matches("/", "/etc/passwd"));
        assert!(matches("/**", "/etc/passwd") && !matches("/etc", "/nowhere"));
    }

    #[test]
    fn tilde_is_the_home_folder_and_no_other() {
        assert!(matches("~", "/nowhere/home/a/b") && matches("~/", "/nowhere/home/a"));
        assert!(
            matches("~/.ssh/**", "/nowhere/home/.ssh/id") && !matches("~/.ssh/**", "/nowhere/home/.sshx")
        );
        assert!(!matches("~", "/nowhere/project/a"));
        assert!(matches("a/~", "/nowhere/project/a/~") && matches("[~]a", "/nowhere/project/~a"));
        for (pattern, home) in [("~root/x", Some(HOME)), ("~root", None), ("~/x", None), ("~", None)] {
            let error = PathPattern::new(pattern, None, home.map(Path::new)).unwrap_err();
            assert!(error.contains("Write the whole path"), "{error}");
        }
    }

    #[test]
    fn exact_path_stands_for_itself_alone() {
        for name in ["a", "~", "~a/b", "a[1]/{b}*.txt", "a b"] {
            let exact = exact_path(Path::new(name));
            assert!(matches(&exact, &format!("{PROJECT}/{name}")), "{exact}");
            assert!(!matches(&exact, &format!("{PROJECT}/{name}x")), "{exact}");
        }
    }
}
