//! Where packages are installed: in folders beside the settings that name them, the same that pi uses.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bowline_core::slash_command::Scope;
use ring::digest::{SHA256, digest};

use super::source::{GitSource, Source};
use crate::list_filter::absolute;

/// A folder with settings, and with what they name below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub folder: PathBuf,
    pub scope: Scope,
}

impl Place {
    /// Returns the file with the list of packages.
    pub fn settings(&self) -> PathBuf {
        self.folder.join("settings.json")
    }

    /// Returns the folder that npm installs into.
    pub fn npm_folder(&self) -> PathBuf {
        match self.scope {
            Scope::Temporary => self.temporary("npm", ""),
            Scope::User | Scope::Project => self.folder.join("npm"),
        }
    }

    /// Returns the folder with all clones.
    pub fn git_folder(&self) -> PathBuf {
        match self.scope {
            Scope::Temporary => self.folder.join("tmp").join("extensions"),
            Scope::User | Scope::Project => self.folder.join("git"),
        }
    }

    /// Returns the clone of a repository.
    pub fn clone_of(&self, source: &GitSource) -> PathBuf {
        match self.scope {
            Scope::Temporary => self.temporary(&format!("git-{}", source.host), &source.path),
            Scope::User | Scope::Project => self.git_folder().join(&source.host).join(&source.path),
        }
    }

    /// Returns the folder of a package, or the file of a local one, whether or not it is there.
    pub fn root_of(&self, source: &Source, home: Option<&Path>) -> PathBuf {
        match source {
            Source::Npm(npm) => self.npm_folder().join("node_modules").join(&npm.name),
            Source::Git(git) => self.clone_of(git),
            Source::Local(path) => absolute(path, &self.folder, home),
        }
    }

    /// Returns what two entries have in common if they are about the same package.
    pub fn identity(&self, source: &Source, home: Option<&Path>) -> String {
        match source {
            Source::Npm(npm) => format!("npm:{}", npm.name),
            Source::Git(git) => format!("git:{}/{}", git.host, git.path),
            Source::Local(_) => format!("local:{}", self.root_of(source, home).display()),
        }
    }

    /// Returns a folder for what is used once. pi chooses the same.
    fn temporary(&self, prefix: &str, path: &str) -> PathBuf {
        let hash = digest(&SHA256, format!("{prefix}-{path}").as_bytes());
        let mut name = String::new();
        for byte in hash.as_ref().iter().take(4) {
            // Writing to a string cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
        let folder = self.folder.join("tmp").join("extensions").join(prefix).join(name);
        if path.is_empty() { folder } else { folder.join(path) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(scope: Scope, source: &str, root: &str, identity: &str) {
        let place = Place { folder: "/a".into(), scope };
        let source = Source::parse(source).unwrap();
        assert_eq!(place.root_of(&source, Some(Path::new("/home/me"))), PathBuf::from(root));
        assert_eq!(place.identity(&source, Some(Path::new("/home/me"))), identity);
    }

    #[test]
    fn folders_are_those_of_pi() {
        check(Scope::User, "npm:@x/y@1", "/a/npm/node_modules/@x/y", "npm:@x/y");
        check(Scope::User, "git:github.com/me/x@v1", "/a/git/github.com/me/x", "git:github.com/me/x");
        check(Scope::Project, "git:git@github.com:me/x", "/a/git/github.com/me/x", "git:github.com/me/x");
        check(Scope::User, "../x", "/x", "local:/x");
        check(Scope::User, "~/x", "/home/me/x", "local:/home/me/x");
        check(Scope::Temporary, "npm:x", "/a/tmp/extensions/npm/f35b2129/node_modules/x", "npm:x");
    }
}
