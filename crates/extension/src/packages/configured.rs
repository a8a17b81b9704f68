//! The packages that settings name, and whether they are there.

use std::path::{Path, PathBuf};

use bowline_core::slash_command::Scope;
use serde_json::Value;

use super::manifest::Manifest;
use super::source::Source;
use super::{Entry, Filter, KEY, Place};

/// The most packages of one list that count.
const MOST: usize = 200;

/// An entry and the settings that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    pub entry: Entry,
    pub place: Place,
}

/// A package that settings name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The source as it is written.
    pub source: String,
    pub scope: Scope,
    /// Whether it is a path of this machine. Such a folder may be an extension instead of a package.
    pub is_local: bool,
    /// What of it is wanted, if not everything.
    pub filter: Option<Filter>,
    /// Where it is, or why it is not used.
    pub root: Result<Root, String>,
}

/// Where a package is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Root {
    Folder(PathBuf),
    /// A single extension.
    File(PathBuf),
}

impl Root {
    pub fn path(&self) -> &Path {
        match self {
            Self::Folder(path) | Self::File(path) => path,
        }
    }
}

impl Installed {
    /// Returns a folder as a package that nothing is left out of.
    pub fn unfiltered(folder: PathBuf) -> Self {
        let source = folder.to_string_lossy().into_owned();
        Self { source, scope: Scope::Temporary, is_local: true, filter: None, root: Ok(Root::Folder(folder)) }
    }
}

impl Configured {
    /// Reads the packages in the settings of a place. Entries that are wrong go to `problems`.
    pub fn list(settings: &Value, place: &Place, problems: &mut Vec<String>) -> Vec<Self> {
        let entries = match settings.get(KEY) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(entries)) => entries,
            Some(_) => {
                problems.push(format!("{}: packages must be a list", place.settings().display()));
                return Vec::new();
            }
        };
        if entries.len() > MOST {
            problems.push(format!("{}: only the first {MOST} packages count", place.settings().display()));
        }
        let mut configured = Vec::new();
        for entry in entries.iter().take(MOST) {
            match Entry::read(entry) {
                Ok(entry) => configured.push(Self { entry, place: place.clone() }),
                Err(problem) => problems.push(format!("{}: {problem}", place.settings().display())),
            }
        }
        configured
    }

    /// Returns what two entries about the same package have in common; `None` for a source that is wrong.
    pub fn identity(&self, home: Option<&Path>) -> Option<String> {
        Source::parse(&self.entry.source).ok().map(|source| self.place.identity(&source, home))
    }

    /// Tells whether it only changes what the user's entry for the same package uses.
    fn is_change(&self) -> bool {
        self.place.scope == Scope::Project
            && self.entry.filter.as_ref().is_some_and(|filter| !filter.autoload)
    }

    /// Returns where the package is, or why it is not used.
    pub fn root(&self, home: Option<&Path>) -> Result<Root, String> {
        let source = Source::parse(&self.entry.source)?;
        let path = self.place.root_of(&source, home);
        let flag = match self.place.scope {
            Scope::User => "",
            Scope::Project => " --local",
            Scope::Temporary => " --temporary",
        };
        let shown = Source::shown(&self.entry.source);
        match &source {
            Source::Local(_) if path.is_file() => Ok(Root::File(path)),
            Source::Local(_) if path.is_dir() => Ok(Root::Folder(path)),
            Source::Local(_) => Err(format!("{} does not exist", path.display())),
            Source::Npm(_) | Source::Git(_) if !path.is_dir() => {
                Err(format!("it is not installed; to install it, run: bowline install{flag} {shown}"))
            }
            Source::Git(_) => Ok(Root::Folder(path)),
            Source::Npm(npm) => {
                let version = Manifest::read(&path).described().version;
                match (npm.exact_version(), version) {
                    (Some(wanted), Some(version)) if version != wanted => Err(format!(
                        "version {version} is installed; to install {wanted}, run: bowline install{flag} {shown}"
                    )),
                    _ => Ok(Root::Folder(path)),
                }
            }
        }
    }
}

/// Returns the packages that some entries name, those of projects first, each once. The entry of a project takes the place
/// of that of the user, unless it only changes it.
pub fn installed(configured: &[Configured], home: Option<&Path>) -> Vec<Installed> {
    let mut packages = Vec::new();
    let mut taken: Vec<(String, Scope, bool)> = Vec::new();
    for item in configured {
        let identity = item.identity(home).unwrap_or_else(|| item.entry.source.clone());
        let before = taken.iter().find(|(known, ..)| *known == identity);
        let is_changed = before.is_some_and(|(_, scope, is_change)| *scope != item.place.scope && *is_change);
        if before.is_some() && !is_changed {
            continue;
        }
        taken.push((identity.clone(), item.place.scope, item.is_change()));
        // A change has no folder of its own: it is about the user's package.
        let same = |other: &&Configured| {
            other.place.scope == Scope::User && other.identity(home).as_deref() == Some(&*identity)
        };
        let base = configured.iter().find(same).filter(|_| item.is_change()).unwrap_or(item);
        packages.push(Installed {
            source: item.entry.source.clone(),
            scope: item.place.scope,
            is_local: matches!(Source::parse(&item.entry.source), Ok(Source::Local(_))),
            filter: item.entry.filter.clone(),
            root: base.root(home),
        });
    }
    packages
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn place(folder: &Path, scope: Scope) -> Place {
        Place { folder: folder.to_owned(), scope }
    }

    #[test]
    fn packages_that_are_not_installed_name_the_command() {
        let folder = tempfile::tempdir().unwrap();
        let settings = json!({ "packages": [
            "npm:gone", "npm:there", "npm:there-pinned@2.0.0", "git:github.com/me/x@v1", "./nothing", "npm:../x", 7,
            "https://me:secret@host.org/a/b",
        ] });
        for (name, version) in [("there", "1.0.0"), ("there-pinned", "1.0.0")] {
            let root = folder.path().join("npm/node_modules").join(name);
            fs::create_dir_all(&root).unwrap();
            fs::write(root.join("package.json"), json!({ "version": version }).to_string()).unwrap();
        }
        let mut problems = Vec::new();
        let place = place(folder.path(), Scope::Project);
        let configured = Configured::list(&settings, &place, &mut problems);
        assert_eq!(problems.len(), 1, "{problems:?}");
        let found = installed(&configured, None).into_iter().map(|package| match package.root {
            Ok(_) => "there".to_owned(),
            Err(reason) => reason,
        });
        assert_eq!(
            found.collect::<Vec<_>>(),
            [
                "it is not installed; to install it, run: bowline install --local npm:gone".to_owned(),
                "there".to_owned(),
                "version 1.0.0 is installed; to install 2.0.0, run: bowline install --local npm:there-pinned@2.0.0"
                    .to_owned(),
                "it is not installed; to install it, run: bowline install --local git:github.com/me/x@v1".to_owned(),
                format!("{} does not exist", folder.path().join("nothing").display()),
                "\"../x\" is not a name of an npm package".to_owned(),
                "it is not installed; to install it, run: bowline install --local https://host.org/a/b".to_owned(),
            ]
        );
    }

    #[test]
    fn same_package_counts_once_whatever_its_version_and_address() {
        let folder = tempfile::tempdir().unwrap();
        let user = place(&folder.path().join("user"), Scope::User);
        let project = place(&folder.path().join("project"), Scope::Project);
        let list = |place: &Place, sources: Value| {
            Configured::list(&json!({ "packages": sources }), place, &mut Vec::new())
        };
        let mut all = list(&project, json!(["npm:a@1", "git:github.com/me/x", "../b"]));
        all.extend(list(
            &user,
            json!(["npm:a", "git:git@github.com:me/x.git@v2", "../b", "npm:c", "npm:c@2"]),
        ));
        let found: Vec<_> = installed(&all, None)
            .into_iter()
            .map(|package| format!("{} {}", package.source, package.scope.as_str()))
            .collect();
        assert_eq!(found, ["npm:a@1 project", "git:github.com/me/x project", "../b project", "npm:c user"]);
    }
}
