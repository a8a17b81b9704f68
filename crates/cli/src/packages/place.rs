//! What the subcommands about packages know: the settings, the places, and whether the project is trusted.

use std::path::{Component, Path, PathBuf};

use bowline_core::slash_command::Scope;
use bowline_extension::packages::{Configured, NpmSource, Place, Source};
use bowline_extension::trust::PROJECT_FOLDERS;
use bowline_extension::{Resources, project_settings};

use super::npm::Npm;
use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::pi_folder;
use crate::resources;
use crate::settings::{self, SettingsFile};
use crate::terminal::note;

/// The folder of a project that is shared with pi.
const PROJECT_FOLDER: &str = ".pi";

/// What the subcommands know.
pub(super) struct Desk {
    pub environment: Environment,
    pub npm: Npm,
    /// The packages of the user.
    of_user: Vec<Configured>,
    /// Where the user's packages are.
    user_folder: PathBuf,
    resources: Resources,
}

/// A package that somebody names on the command line.
pub(super) struct Wanted {
    /// As it is written in settings.
    pub text: String,
    pub source: Source,
}

impl Desk {
    pub fn new(arguments: &Arguments, environment: Environment, file: &SettingsFile) -> Self {
        let options = resources::options(arguments, &environment, file);
        let of_pi = file.pi.as_ref().and_then(|pi| pi.npm_command.clone());
        for problem in file.pi.iter().flat_map(|pi| &pi.extensions.problems) {
            note(format_args!("bowline: {problem}"));
        }
        Self {
            npm: Npm::new(file.npm_command.clone().or(of_pi)),
            of_user: pi_folder::packages(file),
            user_folder: pi_folder::of_packages(&environment, file),
            // What is said about trust is said in the words of the subcommand.
            resources: Resources::new(options, |_| ()),
            environment,
        }
    }

    pub fn home(&self) -> Option<&Path> {
        self.environment.user_home.as_deref()
    }

    /// Tells whether the project is trusted.
    pub fn is_trusted(&self) -> bool {
        self.resources.is_trusted(&self.environment.working_directory)
    }

    /// Returns an error if the project is not trusted.
    pub fn need_trust(&self) -> Result<(), Failure> {
        if self.is_trusted() {
            return Ok(());
        }
        let folder = self.environment.working_directory.display();
        Err(Failure::Package(format!(
            "this project is not trusted, so its packages are not touched. Pass --approve to do it this time, or run: \
             bowline trust {folder}"
        )))
    }

    /// Returns the place for a package that is not configured anywhere.
    pub fn place(&self, scope: Scope) -> Place {
        let folder = match scope {
            Scope::Project => self.environment.working_directory.join(PROJECT_FOLDER),
            Scope::User | Scope::Temporary => self.user_folder.clone(),
        };
        Place { folder, scope }
    }

    /// Returns the packages that are configured: those of the project first, if it is trusted.
    pub fn configured(&self) -> Vec<Configured> {
        let mut configured = Vec::new();
        if self.is_trusted() {
            for folder in self.project_folders() {
                let mut problems = Vec::new();
                let settings = project_settings(&folder, &mut problems);
                let place = Place { folder, scope: Scope::Project };
                configured.extend(Configured::list(&settings, &place, &mut problems));
                for problem in problems {
                    note(format_args!("bowline: {problem}"));
                }
            }
        }
        configured.extend(self.of_user.iter().cloned());
        configured
    }

    fn project_folders(&self) -> Vec<PathBuf> {
        let folder = &self.environment.working_directory;
        let own = &self.environment.home;
        let names = PROJECT_FOLDERS.iter().map(|name| folder.join(name));
        names.filter(|folder| folder != own).collect()
    }

    /// Returns the package that a word of the command line names: a path is relative to the working folder.
    pub fn wanted(&self, text: &str) -> Result<Wanted, Failure> {
        let source = Source::parse(text).map_err(Failure::Package)?;
        let here = &self.environment.working_directory;
        let (text, source) = match source {
            Source::Local(path) => {
                let path = plain(&here.join(self.environment.expand(&path)));
                (path.to_string_lossy().into_owned(), Source::Local(path.to_string_lossy().into_owned()))
            }
            // npm would look for the file beside the packages.
            Source::Npm(NpmSource { name, version: Some(version) }) if version.starts_with("file:") => {
                let path =
                    self.environment.expand(version.trim_start_matches("file:").trim_start_matches("//"));
                let version = format!("file:{}", plain(&path).display());
                let source = NpmSource { name, version: Some(version) };
                (format!("npm:{}", source.spec()), Source::Npm(source))
            }
            other => (text.trim().to_owned(), other),
        };
        Ok(Wanted { text, source })
    }

    /// Returns what has to be the same for an entry to be about a package.
    pub fn identity(&self, source: &Source) -> String {
        // Paths are absolute here, so it does not matter which place this is.
        self.place(Scope::User).identity(source, self.home())
    }

    /// Refuses a folder of a project that a link leads out of it.
    pub fn check_inside(&self, place: &Place, path: &Path) -> Result<(), Failure> {
        if place.scope != Scope::Project {
            return Ok(());
        }
        settings::check_inside(&self.environment.working_directory, path)
    }
}

/// Returns a path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

/// Returns how a path is written in settings in a folder: relative to it.
pub(super) fn relative(path: &Path, folder: &Path) -> String {
    let (path, folder) = (plain(path), plain(folder));
    let shared = path.components().zip(folder.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(path.components().skip(shared)).collect();
    match relative.to_string_lossy() {
        text if text.is_empty() => ".".to_owned(),
        // A name alone could be taken for something else.
        text if text.starts_with("..") => text.into_owned(),
        text => format!("./{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_relative_to_the_settings() {
        for (path, folder, expected) in [
            ("/a/b/c", "/a/b", "./c"),
            ("/a/x/../c", "/a/b", "../c"),
            ("/c", "/a/b", "../../c"),
            ("/a/b", "/a/b", "."),
        ] {
            assert_eq!(relative(Path::new(path), Path::new(folder)), expected);
        }
    }
}
