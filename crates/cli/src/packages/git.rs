//! Packages in git repositories: a clone of each, with its dependencies.

use std::fs;
use std::path::{Path, PathBuf};

use bowline_core::slash_command::Scope;
use bowline_extension::packages::{GitSource, Place, Source};

use super::npm::{self, Npm};
use super::programs::{Hint, Program};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::note;

const IF_MISSING: &str = "install it to use packages from git";

/// The transports that git may use. It has others that run programs.
const PROTOCOLS: &str = "https:http:ssh:git:file";

/// What the user is told about failures of git.
const HINTS: &[Hint] = &[
    Hint {
        signs: &["Could not resolve host", "Connection refused", "timed out", "Network is unreachable"],
        means: "the server cannot be reached; are you offline?",
    },
    Hint {
        signs: &[
            "Authentication failed",
            "Permission denied",
            "terminal prompts disabled",
            "could not read Username",
        ],
        means: "the server does not let you in; the repository may not exist, or be private",
    },
    Hint {
        signs: &[
            "did not match any file",
            "couldn't find remote ref",
            "invalid reference",
            "unknown revision",
        ],
        means: "the repository has no such branch, tag or commit",
    },
    Hint {
        signs: &["not found", "does not exist", "does not appear to be a git repository"],
        means: "there is no such repository",
    },
];

/// Clones of a place.
pub(super) struct Git<'a> {
    pub environment: &'a Environment,
    pub npm: &'a Npm,
}

impl Git<'_> {
    /// Installs a repository, or brings the clone that is there up to date.
    pub fn install(&self, place: &Place, source: &GitSource) -> Result<(), Failure> {
        let folder = place.clone_of(source);
        // An empty folder is nothing that could be lost.
        let _ = fs::remove_dir(&folder);
        if folder.symlink_metadata().is_ok() {
            self.check(place, &folder, source)?;
            return self.update(&folder, source);
        }
        let parent = folder.parent().unwrap_or(&folder).to_owned();
        let root = place.git_folder();
        let mut around = parent.ancestors().take_while(|path| path.starts_with(&root) && **path != root);
        if let Some(other) = around.find(|path| path.join(".git").symlink_metadata().is_ok()) {
            return Err(Failure::Package(format!(
                "{} would be inside of another package, {}",
                folder.display(),
                other.display()
            )));
        }
        npm::create(place, &parent)?;
        if place.scope != Scope::Temporary {
            npm::ignore_in_git(&place.git_folder())?;
        }
        // What is not complete must not be taken for the package.
        let staging = staging(&folder);
        let _ = fs::remove_dir_all(&staging);
        let made = self.make(&staging, &parent, source).and_then(|()| {
            fs::rename(&staging, &folder).map_err(Failure::io("moving the clone to its place"))
        });
        if made.is_err() {
            let _ = fs::remove_dir_all(&staging);
            remove_empty_parents(&folder, &place.git_folder());
        }
        made
    }

    fn make(&self, folder: &Path, parent: &Path, source: &GitSource) -> Result<(), Failure> {
        let shown = folder.display().to_string();
        self.git(parent, &["clone", "--origin", "origin", "--", &source.repository, &shown]).run()?;
        if let Some(reference) = &source.reference {
            self.in_clone(folder, &["checkout", "--quiet", reference, "--"]).run()?;
        }
        self.install_dependencies(folder)
    }

    /// Refuses what is at the place of a clone and is none of this repository: an update discards what was changed in it.
    fn check(&self, place: &Place, folder: &Path, source: &GitSource) -> Result<(), Failure> {
        if !is_clone(place, folder) {
            return Err(Failure::Package(format!(
                "{} is not a clone that bowline made, so it is not updated; remove it and install the package again",
                folder.display()
            )));
        }
        let origin = self.in_clone(folder, &["config", "--local", "--get", "remote.origin.url"]).ask()?;
        let origin = origin.unwrap_or_default();
        // A repository has several addresses, such as those for https and ssh.
        let is_same = origin == source.repository
            || matches!(
                Source::parse(&format!("git:{origin}")),
                Ok(Source::Git(other)) if (&other.host, &other.path) == (&source.host, &source.path)
            );
        if is_same {
            return Ok(());
        }
        Err(Failure::Package(format!(
            "{} is a clone of \"{}\" and not of \"{}\", so it is not updated; remove it and install the package again",
            folder.display(),
            Source::shown(&origin),
            Source::shown(&source.repository)
        )))
    }

    /// Moves a clone to what its reference, or else its branch, is now.
    fn update(&self, folder: &Path, source: &GitSource) -> Result<(), Failure> {
        let target = match &source.reference {
            Some(reference) => {
                self.in_clone(folder, &["fetch", "origin", reference]).run()?;
                "FETCH_HEAD"
            }
            None => {
                self.in_clone(folder, &["fetch", "--prune", "--no-tags", "origin"]).run()?;
                let upstream =
                    self.in_clone(folder, &["rev-parse", "--verify", "--quiet", "@{upstream}"]).ask()?;
                if upstream.is_some() {
                    "@{upstream}"
                } else {
                    self.in_clone(folder, &["remote", "set-head", "origin", "--auto"]).ask()?;
                    "origin/HEAD"
                }
            }
        };
        let commit = |name: &str| {
            let name = format!("{name}^{{commit}}");
            self.in_clone(folder, &["rev-parse", "--verify", "--quiet", &name]).ask()
        };
        if commit("HEAD")? != commit(target)? {
            self.in_clone(folder, &["reset", "--hard", "--quiet", &format!("{target}^{{commit}}")]).run()?;
            self.in_clone(folder, &["clean", "-fdxq"]).run()?;
            return self.install_dependencies(folder);
        }
        // An installation may have been interrupted.
        if folder.join("node_modules").is_dir() { Ok(()) } else { self.install_dependencies(folder) }
    }

    /// Removes a clone.
    pub fn remove(place: &Place, source: &GitSource) -> Result<(), Failure> {
        let folder = place.clone_of(source);
        if !is_clone(place, &folder) {
            note(format_args!(
                "bowline: {} is left there: it is not a clone that bowline made",
                folder.display()
            ));
            return Ok(());
        }
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Failure::io("removing the clone")(error))
            }
            _ => {
                remove_empty_parents(&folder, &place.git_folder());
                Ok(())
            }
        }
    }

    fn install_dependencies(&self, folder: &Path) -> Result<(), Failure> {
        if !folder.join("package.json").is_file() {
            return Ok(());
        }
        self.npm.install_dependencies(folder)
    }

    /// Runs git in a clone, and only there: otherwise it looks for a repository in the folders around, too.
    fn in_clone<'a>(&self, folder: &'a Path, arguments: &[&str]) -> Program<'a> {
        self.git(folder, &[&["--git-dir=.git", "--work-tree=."], arguments].concat())
    }

    fn git<'a>(&self, folder: &'a Path, arguments: &[&str]) -> Program<'a> {
        // The hints are about what it says in English.
        let mut variables = vec![("LC_ALL", "C".to_owned())];
        if self.environment.variable("GIT_ALLOW_PROTOCOL").is_none() {
            variables.push(("GIT_ALLOW_PROTOCOL", PROTOCOLS.to_owned()));
        }
        Program {
            name: "git",
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
            folder,
            variables,
            if_missing: IF_MISSING,
            hints: HINTS,
        }
    }
}

/// Tells whether a folder is a repository of its own. A link, as a folder or as a file with the name of another, leads to
/// a repository that somebody else made.
fn is_clone(place: &Place, folder: &Path) -> bool {
    let root = place.git_folder();
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    let repository = folder.join(".git");
    folder.ancestors().take_while(|path| path.starts_with(&root) && *path != root).all(is_folder)
        && is_folder(&repository)
        && ["objects", "refs"].iter().all(|name| is_folder(&repository.join(name)))
        && !repository.join("commondir").exists()
}

/// Returns where a clone is made. Its name begins with a dot, so nothing looks into it.
fn staging(folder: &Path) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.with_file_name(format!(".{name}.{}", std::process::id()))
}

/// Removes the folders between a clone and the folder of all clones that have nothing in them.
fn remove_empty_parents(folder: &Path, root: &Path) {
    for parent in folder.ancestors().skip(1).take_while(|parent| parent.starts_with(root) && *parent != root)
    {
        if fs::remove_dir(parent).is_err() {
            break;
        }
    }
}
