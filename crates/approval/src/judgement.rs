//! What becomes of one call: the table of when to ask, the rules, and what the call wants beyond the sandbox.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_core::ask::ReasonCode;
use bowline_core::message::Arguments;
use bowline_core::sandbox::{AskMode, Grants};
use bowline_core::tool::{ToolDisplay, ToolTraits};
use bowline_engine::{Asking, GatedCall, HostName, Verdict, call_digest};
use bowline_tools::{Confinement, UNSANDBOXED, WriteAccess, effective_arguments, wants_unsandboxed};
use serde_json::{Value, json};

use crate::command_line::remembering::suggested_prefix;
use crate::command_line::{CommandLine, PlainCommand};
use crate::gate::Gate;
use crate::path_pattern::{Target, exact_path};
use crate::rules::{Access, BASH, Rule, Then};

/// A call that is being judged.
pub(crate) struct Call {
    tool: String,
    traits: Option<&'static ToolTraits>,
    arguments: Arc<Arguments>,
    working_directory: PathBuf,
    /// What confines it, if anything does.
    confinement: Option<Arc<dyn Confinement>>,
}

impl From<&GatedCall<'_>> for Call {
    fn from(call: &GatedCall<'_>) -> Self {
        Self {
            tool: call.tool.to_owned(),
            traits: call.traits,
            arguments: Arc::clone(call.arguments),
            working_directory: call.working_directory.to_owned(),
            confinement: call.confinement.filter(|confinement| confinement.is_active()).cloned(),
        }
    }
}

/// What is known of a call.
struct Facts {
    /// The folder, canonical.
    folder: PathBuf,
    /// The command line, if it is a call of the built-in `bash`.
    line: Option<CommandLine>,
    target: Option<Target>,
}

/// What the rules say about a call.
#[derive(Default)]
struct Ruling {
    /// The strictest rule that asks or denies, and its reason.
    strictest: Option<(Then, Option<String>)>,
    /// Whether rules of the settings allow it.
    is_allowed: bool,
    /// Whether the user has agreed to it before.
    is_agreed: bool,
    /// Whether it may run outside of the sandbox.
    leaves_sandbox: bool,
    /// Whether its path may be written whatever the sandbox says.
    lifts_path: bool,
}

/// What a call wants beyond the sandbox.
struct BeyondSandbox {
    code: ReasonCode,
    reason: String,
    grants: Grants,
    /// Whether rules grant it.
    is_granted: bool,
}

impl Gate {
    /// Decides about a call. It looks at the file system, so it blocks.
    pub(crate) fn judge(&self, call: &Call) -> Verdict {
        let facts = call.facts(self.shared.home.as_deref());
        let ruling = self.ruling(call, &facts);
        let ask = self.memory.kept().ask;
        if let Some((Then::Deny, why)) = &ruling.strictest {
            return forbidden(why.as_deref());
        }
        let wants_out = match call.beyond_sandbox(&facts, &ruling, ask) {
            Ok(wants_out) => wants_out,
            Err(refusal) => return Verdict::refused(refusal),
        };
        let grants = wants_out.as_ref().map(|beyond| beyond.grants.clone()).unwrap_or_default();
        let target = facts.target.as_ref().map(|target| target.path.clone());
        let digest =
            call_digest(&call.tool, &call.arguments, &call.working_directory, target.as_deref(), &grants);
        if self.memory.kept().digests.contains(&digest) {
            return Verdict::Run { grants };
        }
        let question = match (&wants_out, &ruling.strictest) {
            (Some(beyond), _) if !beyond.is_granted => Some((beyond.code, beyond.reason.clone())),
            (_, Some((_, why))) if !ruling.is_agreed => {
                let reason =
                    why.clone().unwrap_or_else(|| "A rule of yours asks about such calls.".to_owned());
                Some((ReasonCode::Rule, reason))
            }
            _ if ask == AskMode::Untrusted && call.may_change_something() && !ruling.allows() => {
                Some((ReasonCode::Untrusted, "It may change something, and no rule allows it.".to_owned()))
            }
            _ => None,
        };
        let Some((code, reason)) = question else { return Verdict::Run { grants } };
        if ask == AskMode::Never {
            return Verdict::refused(format!(
                "This call needs the user's consent, and the user is never asked: {reason} Go on without it, or do what needs no consent."
            ));
        }
        let rule = call.suggested_rule(&facts, &grants, code);
        Verdict::Ask(Box::new(Asking { code, reason, target, grants, rule }))
    }

    /// Decides about a call that the user has agreed to: whether a rule forbids it by now, and whether it is still about
    /// the same path. It looks at the file system, so it blocks.
    pub(crate) fn judge_again(&self, call: &Call, shown: Option<&Path>) -> Verdict {
        let facts = call.facts(self.shared.home.as_deref());
        if let Some((Then::Deny, why)) = &self.ruling(call, &facts).strictest {
            return forbidden(why.as_deref());
        }
        let target = facts.target.as_ref().map(|target| target.path.as_path());
        if shown.is_some() && shown != target {
            return Verdict::refused(
                "The path of this call leads to another place than when the user was asked about it, so it did not run. Call it again: the user is asked about the place where it leads now.",
            );
        }
        Verdict::run()
    }

    /// Decides about a host.
    pub(crate) fn judge_host(&self, name: &HostName<'_>) -> Verdict {
        let (host, port) = (name.host.to_ascii_lowercase(), name.port);
        let host = host.strip_suffix('.').unwrap_or(&host);
        let kept = self.memory.kept();
        let of_session = kept.rules.iter().filter(|(folder, _)| folder == name.working_directory);
        let agreed = of_session.map(|(_, rule)| rule).chain(self.remembered(name.working_directory));
        let mut is_agreed = false;
        let mut strictest: Option<&Rule> = None;
        for rule in agreed.filter(|rule| rule.matches_host(host, port)) {
            is_agreed |= rule.then == Then::Allow;
            strictest = stricter(strictest, rule);
        }
        for rule in self.shared.rules.iter().filter(|rule| rule.matches_host(host, port)) {
            strictest = stricter(strictest, rule);
        }
        match strictest.map(|rule| rule.then) {
            Some(Then::Deny) => return Verdict::refused("A rule of the user forbids this host."),
            Some(Then::Allow) => return Verdict::run(),
            Some(Then::Ask) if is_agreed => return Verdict::run(),
            Some(Then::Ask) | None => {}
        }
        if kept.ask == AskMode::Never {
            return Verdict::refused("This host is not on the list, and the user is never asked.");
        }
        let why = strictest.and_then(|rule| rule.why.clone());
        let reason = why.unwrap_or_else(|| format!("{host}:{port} is not on the list of hosts."));
        let pattern = if port == 443 || port == 80 { host.to_owned() } else { format!("{host}:{port}") };
        Verdict::Ask(Box::new(Asking {
            code: ReasonCode::Network,
            reason,
            target: None,
            grants: Grants { hosts: vec![format!("{host}:{port}")], ..Grants::default() },
            rule: Some(json!({ "host": pattern, "then": "allow" })),
        }))
    }

    fn remembered(&self, folder: &Path) -> impl Iterator<Item = &Rule> {
        self.shared.projects.get(folder).into_iter().flatten()
    }

    fn ruling(&self, call: &Call, facts: &Facts) -> Ruling {
        let mut ruling = Ruling::default();
        let kept = self.memory.kept();
        let of_session = kept.rules.iter().filter(|(folder, _)| *folder == call.working_directory);
        let agreed: Vec<_> = of_session.map(|(_, rule)| rule).chain(self.remembered(&facts.folder)).collect();
        let set: Vec<_> = self.shared.rules.iter().collect();
        for rule in agreed.iter().chain(&set).filter(|rule| call.is_restricted_by(rule, facts)) {
            let is_stricter = ruling.strictest.as_ref().is_none_or(|(then, _)| rule.then > *then);
            if is_stricter {
                ruling.strictest = Some((rule.then, rule.why.clone()));
            }
        }
        let all: Vec<_> = agreed.iter().chain(&set).copied().collect();
        ruling.is_agreed = call.is_allowed_by(&agreed, facts, false);
        ruling.is_allowed = call.is_allowed_by(&all, facts, false);
        ruling.leaves_sandbox = call.is_allowed_by(&all, facts, true);
        ruling.lifts_path = facts.target.as_ref().is_some_and(|target| {
            let patterns = all.iter().filter(|rule| rule.then == Then::Allow);
            let mut patterns = patterns.filter_map(|rule| rule.path_pattern(&call.tool, target.accesses));
            // A relative pattern speaks about the project, and the sandbox protects some of it.
            patterns.any(|pattern| pattern.is_absolute() && pattern.allows(target, &facts.folder))
        });
        ruling
    }
}

impl Ruling {
    fn allows(&self) -> bool {
        self.is_allowed || self.is_agreed
    }
}

fn stricter<'rule>(strictest: Option<&'rule Rule>, rule: &'rule Rule) -> Option<&'rule Rule> {
    strictest.filter(|strictest| strictest.then >= rule.then).or(Some(rule))
}

impl Call {
    fn facts(&self, home: Option<&Path>) -> Facts {
        let folder = bowline_files::canonical(&self.working_directory);
        let effective = self
            .traits
            .and_then(|_| effective_arguments(&self.tool, &self.arguments, &self.working_directory, home));
        let text = |name: &str| effective.as_ref().and_then(|arguments| arguments.get(name)?.as_str());
        let command = text("command").filter(|_| self.tool == BASH);
        let path = self.traits.and_then(|traits| text(traits.path_argument?));
        Facts { folder, line: command.map(CommandLine::new), target: self.target(path) }
    }

    /// Returns the path that a built-in tool is about, and what it does to it.
    fn target(&self, path: Option<&str>) -> Option<Target> {
        self.traits?.path_argument?;
        let accesses: &[Access] = match self.tool.as_str() {
            "write" => &[Access::Write],
            "edit" => &[Access::Read, Access::Write],
            _ => &[Access::Read],
        };
        let given = match path {
            Some(path) => self.working_directory.join(path),
            // What reads a folder reads this one by default; what writes has no default.
            None if accesses.contains(&Access::Write) => return None,
            None => self.working_directory.clone(),
        };
        Some(Target { path: bowline_files::canonical(&given), given, accesses })
    }

    /// Tells whether it depends on an argument what the call does, so that a rule about the tool alone would allow anything.
    fn has_object(&self) -> bool {
        self.traits.is_some_and(|traits| {
            traits.path_argument.is_some() || matches!(traits.display, ToolDisplay::Command { .. })
        })
    }

    fn may_change_something(&self) -> bool {
        self.traits.is_none_or(|traits| traits.mutates)
    }

    /// Tells whether a rule asks about the call or denies it.
    fn is_restricted_by(&self, rule: &Rule, facts: &Facts) -> bool {
        if rule.then == Then::Allow {
            return false;
        }
        let has_command = facts.line.as_ref().is_some_and(|line| rule.might_match(line));
        let has_path = facts.target.as_ref().is_some_and(|target| {
            let pattern = rule.path_pattern(&self.tool, target.accesses);
            pattern.is_some_and(|pattern| pattern.restricts(target, &self.working_directory))
        });
        // What is nested too deep to be looked at may be anything.
        let is_hidden = facts.line.as_ref().is_some_and(|line| line.is_too_deep) && rule.is_about_commands();
        rule.is_about_tool(&self.tool) || has_command || has_path || is_hidden
    }

    /// Tells whether rules allow the call, every part of it; with `leaves_sandbox`, whether they also let it leave the
    /// sandbox.
    fn is_allowed_by(&self, rules: &[&Rule], facts: &Facts, leaves_sandbox: bool) -> bool {
        let mut allowing = rules.iter().filter(|rule| rule.then == Then::Allow);
        if let Some(line) = &facts.line {
            let is_covered = |command: &PlainCommand<'_>| {
                let mut rules = rules.iter().filter(|rule| rule.then == Then::Allow);
                rules.any(|rule| rule.covers(command) && (rule.leaves_sandbox || !leaves_sandbox))
            };
            if line.plain().is_some_and(|commands| commands.iter().all(is_covered)) {
                return true;
            }
        }
        if leaves_sandbox {
            return false;
        }
        allowing.any(|rule| {
            rule.is_about_tool(&self.tool)
                || facts.target.as_ref().is_some_and(|target| {
                    let pattern = rule.path_pattern(&self.tool, target.accesses);
                    pattern.is_some_and(|pattern| pattern.allows(target, &facts.folder))
                })
        })
    }

    /// Returns what the call wants beyond the sandbox, or why it cannot want that.
    fn beyond_sandbox(
        &self,
        facts: &Facts,
        ruling: &Ruling,
        ask: AskMode,
    ) -> Result<Option<BeyondSandbox>, String> {
        if facts.line.is_some() && wants_unsandboxed(&self.arguments) {
            return self.unsandboxed(ruling, ask).map(Some);
        }
        let (Some(Target { path, accesses, .. }), Some(confinement)) = (&facts.target, &self.confinement)
        else {
            return Ok(None);
        };
        if !accesses.contains(&Access::Write) {
            return Ok(None);
        }
        let shown = path.display();
        let reason = match confinement.write_access(path) {
            WriteAccess::Allowed => None,
            WriteAccess::Outside => Some(format!("{shown} is outside of what the sandbox lets tools write.")),
            WriteAccess::Protected => Some(format!(
                "{shown} is protected: git, an editor or an agent would run what is written there."
            )),
            WriteAccess::Masked => {
                return Err(format!(
                    "{shown} is closed to tools: it holds credentials or belongs to bowline. Do not write it."
                ));
            }
        };
        if let Some(reason) = reason {
            return Ok(Some(BeyondSandbox {
                code: ReasonCode::Path,
                reason,
                grants: Grants { paths: vec![path.clone()], ..Grants::default() },
                is_granted: ruling.lifts_path,
            }));
        }
        Ok(has_other_names(path).then(|| BeyondSandbox {
            code: ReasonCode::HardLink,
            reason: format!(
                "{} has other names, which may be outside of the project: they would change with it.",
                path.display()
            ),
            grants: Grants::default(),
            is_granted: ruling.lifts_path,
        }))
    }

    fn unsandboxed(&self, ruling: &Ruling, ask: AskMode) -> Result<BeyondSandbox, String> {
        let refused = |why: &str| Err(format!("The argument \"{UNSANDBOXED}\" cannot be used: {why}"));
        let Some(reason) = self.arguments.get(UNSANDBOXED).and_then(Value::as_str) else {
            return refused("it must be a text that says why.");
        };
        if self.confinement.is_none() {
            return refused("there is no sandbox. Omit it.");
        }
        if ask == AskMode::Never {
            return refused("the user is never asked. Run the command without it, in the sandbox.");
        }
        Ok(BeyondSandbox {
            code: ReasonCode::Unsandboxed,
            reason: format!("It wants to run outside of the sandbox: {reason}"),
            grants: Grants { unsandboxed: true, ..Grants::default() },
            is_granted: ruling.leaves_sandbox,
        })
    }

    /// Returns a rule that would allow the call from now on, if there is one that is narrow enough.
    fn suggested_rule(&self, facts: &Facts, grants: &Grants, code: ReasonCode) -> Option<Value> {
        if let Some(line) = &facts.line {
            let prefix = suggested_prefix(line)?;
            return Some(match grants.unsandboxed {
                true => json!({ "tool": BASH, "prefix": prefix, "then": "allow", "sandbox": "off" }),
                false => json!({ "tool": BASH, "prefix": prefix, "then": "allow" }),
            });
        }
        let Some(Target { path, accesses, .. }) = &facts.target else {
            return (!self.has_object()).then(|| json!({ "tool": self.tool, "then": "allow" }));
        };
        // What is said about a folder is said about everything in it.
        if facts.folder.starts_with(path) || path.is_dir() {
            return None;
        }
        let tools =
            if accesses.contains(&Access::Write) { json!(["write", "edit"]) } else { json!(self.tool) };
        let is_beyond_sandbox = matches!(code, ReasonCode::Path | ReasonCode::HardLink);
        let pattern = match path.strip_prefix(&facts.folder) {
            Ok(relative) if !is_beyond_sandbox => exact_path(relative),
            _ => exact_path(path),
        };
        Some(json!({ "tool": tools, "path": pattern, "then": "allow" }))
    }
}

fn forbidden(why: Option<&str>) -> Verdict {
    Verdict::refused(format!(
        "A rule of the user forbids this call{}. Do not try to get around it: go on without it, or ask the user.",
        because(why)
    ))
}

fn because(why: Option<&str>) -> String {
    why.map(|why| format!(": {}", why.trim_end_matches('.'))).unwrap_or_default()
}

/// Tells whether a file is known by another name, too.
#[cfg(unix)]
fn has_other_names(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    path.metadata().is_ok_and(|found| found.is_file() && found.nlink() > 1)
}

#[cfg(not(unix))]
fn has_other_names(_path: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests;
