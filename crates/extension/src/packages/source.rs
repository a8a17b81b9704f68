//! Where a package comes from: what users write after `bowline install` and in `packages`.
//!
//! Names and addresses become arguments of npm and git and parts of paths, and a project may have written them. So only
//! what is known to be harmless is accepted: nothing that begins with a dash, no transport but the usual ones, no path that
//! leads elsewhere.

/// Where a package comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Npm(NpmSource),
    Git(GitSource),
    /// A file or folder of this machine, as it is written.
    Local(String),
}

/// A package of npm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpmSource {
    /// With its scope: `@scope/name`.
    pub name: String,
    /// A version, a range or a tag; also `file:` and a path.
    pub version: Option<String>,
}

/// A git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSource {
    /// What git is given.
    pub repository: String,
    pub host: String,
    /// The path on the host, without `.git`.
    pub path: String,
    /// A branch, tag or commit.
    pub reference: Option<String>,
}

/// The transports of git that are used. Others can run programs.
const SCHEMES: [&str; 4] = ["https", "http", "ssh", "git"];

/// The longest name that npm accepts.
const LONGEST_NAME: usize = 214;

/// The longest source that is looked at.
const LONGEST: usize = 2000;

impl Source {
    /// Returns the source in a text, or what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() || text.len() > LONGEST || text.contains(char::is_control) {
            return Err("it names no package".to_owned());
        }
        if let Some(spec) = text.strip_prefix("npm:") {
            return NpmSource::parse(spec.trim()).map(Self::Npm);
        }
        if let Some(address) = text.strip_prefix("git:").filter(|rest| !rest.starts_with("//")) {
            return GitSource::parse(address.trim()).map(Self::Git);
        }
        match text.split_once("://") {
            Some((scheme, path)) if scheme.eq_ignore_ascii_case("file") => Ok(Self::Local(path.to_owned())),
            Some(_) => GitSource::parse(text).map(Self::Git),
            None if text.contains("::") || text.starts_with('-') => {
                Err(format!("\"{text}\" is neither a package nor a path"))
            }
            None => Ok(Self::Local(text.strip_prefix("file:").unwrap_or(text).to_owned())),
        }
    }
}

impl NpmSource {
    fn parse(spec: &str) -> Result<Self, String> {
        let start = usize::from(spec.starts_with('@'));
        let (name, version) = match spec.get(start..).and_then(|rest| rest.find('@')) {
            Some(at) => (&spec[..start + at], Some(&spec[start + at + 1..])),
            None => (spec, None),
        };
        let parts: Vec<_> = name.strip_prefix('@').unwrap_or(name).split('/').collect();
        let expected = if name.starts_with('@') { 2 } else { 1 };
        if name.len() > LONGEST_NAME || parts.len() != expected || !parts.iter().all(|part| is_name(part)) {
            return Err(format!("\"{name}\" is not a name of an npm package"));
        }
        let version = version.filter(|version| !version.is_empty());
        if let Some(version) = version.filter(|version| !is_version(version)) {
            return Err(format!("\"{version}\" is not a version of an npm package"));
        }
        Ok(Self { name: name.to_owned(), version: version.map(ToOwned::to_owned) })
    }

    /// Returns the version if it can be only one.
    pub fn exact_version(&self) -> Option<&str> {
        let version = self.version.as_deref()?;
        let core = version.strip_prefix('v').unwrap_or(version).split(['-', '+']).next().unwrap_or_default();
        let numbers: Vec<_> = core.split('.').collect();
        let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        (numbers.len() == 3 && numbers.iter().all(is_number))
            .then(|| version.strip_prefix('v').unwrap_or(version))
    }

    /// Returns what npm is given.
    pub fn spec(&self) -> String {
        let version = self.version.as_deref().map(|version| format!("@{version}")).unwrap_or_default();
        format!("{}{version}", self.name)
    }
}

fn is_name(part: &str) -> bool {
    !part.is_empty()
        && !part.starts_with(['.', '-'])
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte))
}

/// Tells whether a text is a version, a range, a tag or a path of this machine, and nothing that fetches something else.
fn is_version(version: &str) -> bool {
    if let Some(path) = version.strip_prefix("file:") {
        return !path.is_empty();
    }
    !version.starts_with('-')
        && version.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._~^<>=|*+- ".contains(&byte))
}

impl GitSource {
    fn parse(address: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{}\" is not the address of a git repository; for example: git:github.com/NAME/REPOSITORY@v1 or \
                 https://github.com/NAME/REPOSITORY",
                without_user(address)
            )
        };
        let parts = match address.split_once("://") {
            Some((scheme, rest)) => of_url(&scheme.to_ascii_lowercase(), rest),
            None => of_short_form(address),
        };
        let Address { start, host, path } = parts.ok_or_else(wrong)?;
        let (path, reference) = match path.split_once('@') {
            Some((path, reference)) => (path, Some(reference)),
            None => (path, None),
        };
        let name = path.trim_end_matches('/');
        let name = name.strip_suffix(".git").unwrap_or(name);
        let are_plain = name.split('/').all(is_part_of_path) && name.contains('/');
        if !is_host(host) || !are_plain || !reference.is_none_or(is_reference) {
            return Err(wrong());
        }
        Ok(Self {
            repository: format!("{start}{}", path.trim_end_matches('/')),
            host: host.to_ascii_lowercase(),
            path: name.to_owned(),
            reference: reference.map(ToOwned::to_owned),
        })
    }
}

/// The parts of an address.
struct Address<'text> {
    /// Everything before the path, as git is given it.
    start: String,
    host: &'text str,
    /// With the reference, if there is one.
    path: &'text str,
}

fn of_url<'text>(scheme: &str, rest: &'text str) -> Option<Address<'text>> {
    let (authority, path) = rest.split_once('/').filter(|_| SCHEMES.contains(&scheme))?;
    let (user, server) = match authority.rsplit_once('@') {
        Some((user, server)) => (Some(user), server),
        None => (None, authority),
    };
    let (host, port) = match server.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (server, None),
    };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let fits = user.is_none_or(is_user) && port.is_none_or(is_port);
    fits.then(|| Address { start: format!("{scheme}://{authority}/"), host, path })
}

/// Takes `git@host:path` and `host/path` apart.
fn of_short_form(address: &str) -> Option<Address<'_>> {
    if let Some((host, path)) = address.strip_prefix("git@").and_then(|rest| rest.split_once(':')) {
        return Some(Address { start: format!("git@{host}:"), host, path });
    }
    let (host, path) = address.split_once('/')?;
    let is_known = host.contains('.') || host == "localhost";
    is_known.then(|| Address { start: format!("https://{host}/"), host, path })
}

fn is_user(user: &str) -> bool {
    !user.starts_with('-')
        && user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._~:%+-".contains(&byte))
}

fn is_host(host: &str) -> bool {
    !host.is_empty()
        && !host.starts_with(['.', '-'])
        && !host.contains("..")
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
}

fn is_part_of_path(part: &str) -> bool {
    // Systems that do not tell letters apart have other names for git's own folder.
    let name = part.trim_end_matches('.').to_ascii_lowercase();
    !matches!(&*name, "" | ".git" | "git~1")
        && !part.starts_with('-')
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._~+-".contains(&byte))
}

fn is_reference(reference: &str) -> bool {
    !reference.is_empty()
        && !reference.starts_with(['-', '/', '.'])
        && !reference.contains("..")
        && reference.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/+-".contains(&byte))
}

/// Returns an address without what may be a password.
fn without_user(address: &str) -> String {
    match (address.split_once("://"), address.rsplit_once('@')) {
        (Some((scheme, rest)), Some(_)) => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            let server = authority.rsplit_once('@').map_or(authority, |(_, server)| server);
            format!("{scheme}://{server}/{path}")
        }
        _ => address.to_owned(),
    }
}

impl Source {
    /// Returns the source as it may be shown: without a password.
    pub fn shown(text: &str) -> String {
        without_user(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn npm(text: &str, name: &str, version: Option<&str>) {
        let expected = NpmSource { name: name.to_owned(), version: version.map(ToOwned::to_owned) };
        assert_eq!(Source::parse(text), Ok(Source::Npm(expected)));
    }

    #[track_caller]
    fn git(text: &str, repository: &str, place: &str, reference: Option<&str>) {
        let Ok(Source::Git(source)) = Source::parse(text) else {
            panic!("{text}: {:?}", Source::parse(text))
        };
        assert_eq!(source.repository, repository);
        assert_eq!(format!("{}/{}", source.host, source.path), place);
        assert_eq!(source.reference.as_deref(), reference);
    }

    #[test]
    fn forms_of_pi_are_understood() {
        npm("npm:pi-subagents", "pi-subagents", None);
        npm("npm:@a/b@1.2.3", "@a/b", Some("1.2.3"));
        npm("npm:x@^1.0 || 2", "x", Some("^1.0 || 2"));
        npm("npm:x@file:../x.tgz", "x", Some("file:../x.tgz"));
        git("git:github.com/me/x@v1", "https://github.com/me/x", "github.com/me/x", Some("v1"));
        git("git:git@github.com:me/x.git", "git@github.com:me/x.git", "github.com/me/x", None);
        git(
            "https://github.com/me/x.git@main",
            "https://github.com/me/x.git",
            "github.com/me/x",
            Some("main"),
        );
        git("ssh://git@host.org:22/me/a/x", "ssh://git@host.org:22/me/a/x", "host.org/me/a/x", None);
        git("https://me:token@Host.org/a/b", "https://me:token@Host.org/a/b", "host.org/a/b", None);
        for path in ["./dir", "../dir", "/abs", "~/dir", "name"] {
            assert_eq!(Source::parse(path), Ok(Source::Local(path.to_owned())));
        }
        assert_eq!(Source::parse("file:///abs"), Ok(Source::Local("/abs".to_owned())));
    }

    #[test]
    fn only_complete_versions_are_exact() {
        for (text, version) in [("npm:x@1.2.3", Some("1.2.3")), ("npm:x@v1.2.3-a.1", Some("1.2.3-a.1"))] {
            let Ok(Source::Npm(source)) = Source::parse(text) else { panic!("{text}") };
            assert_eq!(source.exact_version(), version);
        }
        for text in ["npm:x", "npm:x@1", "npm:x@^1.2.3", "npm:x@latest", "npm:x@1.x.3"] {
            let Ok(Source::Npm(source)) = Source::parse(text) else { panic!("{text}") };
            assert_eq!(source.exact_version(), None);
        }
    }

    #[test]
    fn options_transports_and_paths_that_lead_elsewhere_are_refused() {
        for text in [
            "",
            "-x",
            "--upload-pack=x",
            "npm:",
            "npm:--global",
            "npm:-g",
            "npm:../x",
            "npm:@a",
            "npm:@a/../b",
            "npm:a/b",
            "npm:x@--global",
            "npm:x@git+ssh://host/x",
            "npm:x@https://host/x.tgz",
            "npm:x@npm:y",
            "npm:.hidden",
            "ext::sh -c touch% x",
            "git:ext::sh -c x",
            "git:--upload-pack=x/y/z",
            "git:-u/x/y",
            "git:github.com/../x",
            "git:github.com/me/..",
            "git:github.com/me",
            "git:github.com/me/%2e%2e/x",
            "git:github.com/me/x@--upload-pack=x",
            "git:github.com/me/x@a..b",
            "git:git@-oProxyCommand=x:me/x",
            "git:user/repo",
            "git:file:///tmp/x/y",
            "git:github.com//me/x",
            "ssh://-oProxyCommand=x@host.org/me/x",
            "ssh://-oProxyCommand=x/me/x",
            "https://host.org/me/x\\y",
            "https://host.org/me/.git",
            "git:host.org/me/.GIT",
            "git:host.org/.Git./x",
            "git:host.org/me/GIT~1",
            "fd::17/foo",
            "rsync://host/me/x",
            "git:github.com/me/x y",
            "npm:x\n",
        ] {
            let text = if text == "npm:x\n" { "npm:x\ny" } else { text };
            assert!(Source::parse(text).is_err(), "{text}: {:?}", Source::parse(text));
        }
        let error = Source::parse("https://me:secret@host/x y/z").unwrap_err();
        assert!(!error.contains("secret"), "{error}");
    }
}
