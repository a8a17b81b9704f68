//! What commands get of this process's environment: not its keys.
//!
//! Names and values are tables, because no rule finds every secret: a variable is dropped if its name or its value looks
//! like a secret, or if this program takes a key from it. A user can keep a variable by its name.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The variable in which commands find the names of what was dropped.
const DROPPED: &str = "BOWLINE_DROPPED";

/// Kept whatever the value, also by [`Inherit::Core`]. `*` stands for any end.
const CORE: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TMPDIR",
    "PWD",
    "EDITOR",
    "PAGER",
    "CI",
    // Windows does not start programs without these.
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "COMSPEC",
    "PATHEXT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
];

/// A name that contains one of these is that of a secret.
const SECRET_PARTS: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "AUTH",
    "PRIVATE",
    "COOKIE",
];

/// A name that has one of these between underscores is that of a secret.
const SECRET_WORDS: &[&str] = &["DSN", "PAT", "PWD"];

/// Words that contain a part of a secret's name and are not secret.
const HARMLESS_WORDS: &[&str] =
    &["AUTHOR", "AUTHORS", "KEYBOARD", "KEYMAP", "KEYCODE", "TOKENIZERS", "OLDPWD"];

/// Ways to the user's other programs, which could act for a command with more rights than it has.
const DOORS: &[&str] = &[
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_*",
    "DOCKER_HOST",
    "XDG_RUNTIME_DIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "VSCODE_IPC_*",
];

/// What the keys of well-known services begin with, each with the least length of such a key.
pub const SECRET_PREFIXES: &[(&str, usize)] = &[
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("xoxa-", 20),
    ("xapp-", 20),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 30),
    ("ya29.", 20),
    ("hf_", 20),
    ("gsk_", 20),
    ("xai-", 20),
    ("pypi-", 20),
    ("npm_", 20),
    ("dop_v1_", 20),
    ("SG.", 20),
    ("tvly-", 16),
];

/// How much of the environment commands get.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Inherit {
    /// Everything but what looks like a secret.
    #[default]
    Scrubbed,
    /// Only what programs need to run.
    Core,
    /// Everything, keys included.
    All,
}

/// What commands get of this process's environment. By default they inherit it. Cheap to clone.
#[derive(Clone, Default)]
pub struct CommandEnvironment(Option<Arc<Source>>);

struct Source {
    all: Box<dyn Fn() -> Vec<(OsString, OsString)> + Send + Sync>,
    inherit: Inherit,
    keep: Vec<String>,
    key_variables: Box<dyn Fn() -> Vec<String> + Send + Sync>,
    report: Box<dyn Fn(&str) + Send + Sync>,
    /// Made with the first command: starting does not need it.
    scrubbed: OnceLock<Scrubbed>,
}

/// What commands get, and the names of what they do not get.
struct Scrubbed {
    variables: Vec<(OsString, OsString)>,
    dropped: Vec<String>,
}

impl CommandEnvironment {
    /// Returns what `inherit` leaves of the variables that `all` returns, and those that `keep` names; a `*` at the end of
    /// a name stands for any end. `key_variables` returns the names of the variables that this program takes keys from.
    /// With the first command, `report` is called with the names of what was dropped, if any.
    pub fn new(
        all: impl Fn() -> Vec<(OsString, OsString)> + Send + Sync + 'static,
        inherit: Inherit,
        keep: Vec<String>,
        key_variables: impl Fn() -> Vec<String> + Send + Sync + 'static,
        report: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        let (all, key_variables, report) = (Box::new(all), Box::new(key_variables), Box::new(report));
        let scrubbed = OnceLock::new();
        Self(Some(Arc::new(Source { all, inherit, keep, key_variables, report, scrubbed })))
    }

    /// Returns everything that commands get, also if they inherit the environment as it is.
    pub fn whole(&self) -> Vec<(OsString, OsString)> {
        match (self.variables(), &self.0) {
            (Some(variables), _) => variables.to_vec(),
            (None, Some(source)) => (source.all)(),
            (None, None) => Vec::new(),
        }
    }

    /// Returns the variables; `None` if commands inherit the environment as it is.
    pub fn variables(&self) -> Option<&[(OsString, OsString)]> {
        self.scrubbed().map(|scrubbed| &*scrubbed.variables)
    }

    /// Returns the variables that commands do not get and whose names match one of `patterns`, as far as they are text. The
    /// names of those that are still missing come along.
    pub fn kept(&self, patterns: &[String]) -> Vec<(String, String)> {
        let Some((scrubbed, source)) = self.scrubbed().zip(self.0.as_ref()) else { return Vec::new() };
        let is_kept = |name: &str| patterns.iter().any(|pattern| matches_name(pattern, name));
        let (kept, missing): (Vec<_>, Vec<_>) = scrubbed.dropped.iter().partition(|name| is_kept(name));
        if kept.is_empty() {
            return Vec::new();
        }
        let all = (source.all)().into_iter();
        let all = all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let mut variables: Vec<_> = all.filter(|(name, _)| kept.contains(&name)).collect();
        let missing: Vec<_> = missing.into_iter().map(String::as_str).collect();
        variables.push((DROPPED.to_owned(), missing.join(",")));
        variables
    }

    /// Returns the names of the variables that commands do not get, in order.
    pub fn dropped(&self) -> &[String] {
        self.scrubbed().map_or(&[], |scrubbed| &scrubbed.dropped)
    }

    fn scrubbed(&self) -> Option<&Scrubbed> {
        let source = self.0.as_deref().filter(|source| source.inherit != Inherit::All)?;
        Some(source.scrubbed.get_or_init(|| source.scrub()))
    }
}

impl fmt::Debug for CommandEnvironment {
    /// Omits the variables, whose values may be secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inherit = self.0.as_ref().map(|source| source.inherit);
        formatter.debug_tuple("CommandEnvironment").field(&inherit).finish()
    }
}

impl Source {
    /// Returns what is left, and the names of what is not, so that a command can tell a variable that was dropped from one
    /// that was never set.
    fn scrub(&self) -> Scrubbed {
        let key_variables = (self.key_variables)();
        let (mut variables, dropped): (Vec<_>, Vec<_>) =
            (self.all)().into_iter().partition(|(name, value)| self.keeps(name, value, &key_variables));
        let mut dropped: Vec<_> =
            dropped.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        dropped.sort_unstable();
        if !dropped.is_empty() {
            (self.report)(&dropped.join(", "));
            variables.push((OsString::from(DROPPED), OsString::from(dropped.join(","))));
        }
        Scrubbed { variables, dropped }
    }

    fn keeps(&self, name: &OsStr, value: &OsStr, key_variables: &[String]) -> bool {
        let name = name.to_string_lossy();
        if self.keep.iter().any(|kept| matches_name(kept, &name)) {
            return true;
        }
        if key_variables.iter().any(|variable| *variable == name) {
            return false;
        }
        let upper = name.to_ascii_uppercase();
        if CORE.iter().any(|kept| matches_name(kept, &upper)) {
            return true;
        }
        self.inherit == Inherit::Scrubbed
            && !has_secret_name(&upper)
            && !looks_secret(&value.to_string_lossy())
    }
}

fn matches_name(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

/// Tells whether a variable holds a secret, as its name or its value tells.
pub fn is_secret_variable(name: &str, value: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let is_harmless = CORE.iter().any(|kept| matches_name(kept, &upper));
    looks_secret(value) || (!is_harmless && names_secret(&upper))
}

/// Tells whether a name in upper case is that of a secret or of a way to other programs.
fn has_secret_name(name: &str) -> bool {
    names_secret(name) || DOORS.iter().any(|door| matches_name(door, name))
}

fn names_secret(name: &str) -> bool {
    let is_secret = |word: &str| {
        SECRET_WORDS.contains(&word)
            || (!HARMLESS_WORDS.contains(&word) && SECRET_PARTS.iter().any(|part| word.contains(part)))
    };
    name.split(['_', '.', '-']).any(is_secret)
}

/// Tells whether a name, such as that of a variable or a flag, is that of a secret.
pub fn is_name_of_secret(name: &str) -> bool {
    has_secret_name(&name.to_ascii_uppercase())
}

/// Tells whether a value looks like a key, a certificate's private half, a signed token, or an address with a password.
pub fn looks_secret(value: &str) -> bool {
    let value = value.trim();
    (value.contains("-----BEGIN") && value.contains("PRIVATE KEY"))
        || SECRET_PREFIXES.iter().any(|(prefix, least)| {
            value.starts_with(prefix) && value.len() >= *least && !value.contains(char::is_whitespace)
        })
        || is_json_web_token(value)
        || has_password(value)
}

/// Tells whether a text is a JSON Web Token: three parts in base64 for URLs, the first of which is an object.
fn is_json_web_token(text: &str) -> bool {
    let parts: Vec<_> = text.split('.').collect();
    let is_base64 = |part: &&str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_=".contains(&byte))
    };
    parts.len() == 3 && text.starts_with("eyJ") && parts.iter().all(is_base64)
}

/// Tells whether a text has an address of the form `scheme://user:password@host`.
fn has_password(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ', '"', '\'']).next().unwrap_or_default();
        authority
            .rsplit_once('@')
            .and_then(|(user, _)| user.split_once(':'))
            .is_some_and(|(_, password)| !password.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(inherit: Inherit, keep: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
        let variables: Vec<_> =
            variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        let keep = keep.iter().map(|name| (*name).to_owned()).collect();
        let environment = CommandEnvironment::new(
            move || variables.clone(),
            inherit,
            keep,
            || vec!["MY_MODEL".to_owned()],
            |_| (),
        );
        let dropped = environment.dropped().to_vec();
        let told = environment.variables().unwrap_or_default().iter().find(|(name, _)| name == DROPPED);
        let told = told.map(|(_, names)| names.to_str().unwrap().to_owned());
        assert_eq!(told, (!dropped.is_empty()).then(|| dropped.join(",")));
        dropped
    }

    #[track_caller]
    fn check_name(name: &str, expected: bool) {
        assert_eq!(dropped(Inherit::Scrubbed, &[], &[(name, "1")]) == [name], expected, "{name}");
    }

    #[test]
    fn names_of_secrets_are_dropped() {
        for name in [
            "ANTHROPIC_API_KEY",
            "apikey",
            "GITHUB_TOKEN",
            "PGPASSWORD",
            "MYSQL_PWD",
            "SENTRY_DSN",
            "GITLAB_PAT",
            "NPM_CONFIG__AUTH",
            "SESSION_COOKIE",
            "SSH_AUTH_SOCK",
            "DBUS_SESSION_BUS_ADDRESS",
            "VSCODE_IPC_HOOK_CLI",
            "XAUTHORITY",
            "MY_MODEL",
        ] {
            check_name(name, true);
        }
    }

    #[test]
    fn ordinary_names_are_kept() {
        for name in [
            "PATH",
            "LC_ALL",
            "GIT_AUTHOR_NAME",
            "PWD",
            "OLDPWD",
            "PATTERN",
            "JAVA_HOME",
            "CARGO_TARGET_DIR",
            "TOKENIZERS_PARALLELISM",
            "VIRTUAL_ENV",
        ] {
            check_name(name, false);
        }
    }

    #[track_caller]
    fn check_value(value: &str, expected: bool) {
        assert_eq!(dropped(Inherit::Scrubbed, &[], &[("PLAIN", value)]).len() == 1, expected, "{value}");
    }

    #[test]
    fn values_that_look_like_secrets_are_dropped() {
        check_value("-----BEGIN RSA PRIVATE KEY-----\nabc", true);
        check_value("sk-ant-api03-0123456789abcdef", true);
        check_value("ghp_0123456789abcdefghij", true);
        check_value("AKIAIOSFODNN7EXAMPLE", true);
        check_value("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", true);
        check_value("postgres://me:hunter2@localhost/db", true);
        check_value("see https://a:b@example.org/", true);
        check_value("https://me@example.org/a:b@c", false);
        check_value("http://localhost:3000/@scope", false);
        check_value("sk-short", false);
        check_value("-----BEGIN CERTIFICATE-----", false);
        check_value("1.2.3", false);
    }

    #[test]
    fn core_keeps_only_what_programs_need_and_what_the_user_names() {
        let variables = [("PATH", "/bin"), ("JAVA_HOME", "/j"), ("MY_TOKEN", "t"), ("MY_OTHER", "o")];
        assert_eq!(dropped(Inherit::Core, &[], &variables), ["JAVA_HOME", "MY_OTHER", "MY_TOKEN"]);
        assert_eq!(dropped(Inherit::Core, &["MY_*"], &variables), ["JAVA_HOME"]);
        assert_eq!(dropped(Inherit::Scrubbed, &["MY_TOKEN"], &variables), [""; 0]);
    }

    #[test]
    fn all_inherits_the_environment_as_it_is() {
        let variables = || vec![(OsString::from("MY_TOKEN"), OsString::from("t"))];
        let environment = CommandEnvironment::new(variables, Inherit::All, Vec::new(), Vec::new, |_| ());
        assert!(environment.variables().is_none());
        assert!(!format!("{environment:?}").contains("MY_TOKEN"));
    }
}
