use std::fs;
use std::sync::Mutex;

use bowline_core::sandbox::{SandboxChange, SandboxReport};
use bowline_engine::{CallGate as _, Consent};
use bowline_tools::{BoxFuture, CallContext, CommandOutcome, CommandRequest, Outcome, OutputSink, traits_of};
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::Unsearched;
use crate::gate::Options;

mod evasions;

/// A sandbox that lets tools write one folder.
#[derive(Debug)]
struct Fence {
    folder: PathBuf,
    granted: Mutex<Vec<Grants>>,
}

impl Confinement for Fence {
    fn is_active(&self) -> bool {
        true
    }

    fn summary(&self) -> bowline_core::sandbox::SandboxSummary {
        bowline_core::sandbox::SandboxSummary::from(&self.report())
    }

    fn kept_texts(&self) -> Option<PathBuf> {
        None
    }

    fn report(&self) -> SandboxReport {
        SandboxReport::default()
    }

    fn revision(&self) -> u64 {
        0
    }

    fn prove(&self, _session: Option<&str>) -> BoxFuture<'static, Result<SandboxReport, String>> {
        Box::pin(std::future::ready(Ok(SandboxReport::default())))
    }

    fn change(&self, _change: SandboxChange) -> Result<(), String> {
        Ok(())
    }

    fn write_access(&self, path: &Path) -> WriteAccess {
        match path {
            _ if path.starts_with(self.folder.join(".git")) => WriteAccess::Protected,
            _ if path.starts_with(self.folder.join(".keys")) => WriteAccess::Masked,
            _ if path.starts_with(&self.folder) => WriteAccess::Allowed,
            _ => WriteAccess::Outside,
        }
    }

    fn ask_about_hosts(&self, _: std::sync::Arc<dyn bowline_tools::HostGate>) {}

    fn grant(&self, grants: &Grants) {
        self.granted.lock().unwrap().push(grants.clone());
    }

    fn call(&self, _: &'static str, _: CallContext, _: Arguments) -> BoxFuture<'static, Outcome> {
        Box::pin(std::future::ready(Outcome::text("")))
    }

    fn run_command<'sink>(
        &'sink self,
        _: CommandRequest,
        _: OutputSink<'sink>,
    ) -> BoxFuture<'sink, Result<CommandOutcome, bowline_tools::Error>> {
        unreachable!()
    }
}

struct World {
    folder: TempDir,
    gate: Gate,
    is_confined: bool,
}

impl World {
    #[expect(clippy::needless_pass_by_value, reason = "a test reads better without the reference")]
    fn new(ask: AskMode, rules: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let rules = rules.as_array().cloned().unwrap();
        let gate = Gate::new(Options { ask, rules, ..Options::default() }).unwrap();
        Self { folder, gate, is_confined: false }
    }

    fn confined(mut self) -> Self {
        self.is_confined = true;
        self
    }

    fn folder(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn judge(&self, tool: &str, arguments: &Value) -> Verdict {
        let fence: Arc<dyn Confinement> =
            Arc::new(Fence { folder: self.folder(), granted: Mutex::default() });
        self.gate.judge(&Call {
            tool: tool.to_owned(),
            traits: traits_of(tool),
            arguments: Arc::new(arguments.as_object().cloned().unwrap()),
            working_directory: self.folder(),
            confinement: self.is_confined.then_some(fence),
        })
    }

    fn short(&self, tool: &str, arguments: &Value) -> &'static str {
        short(&self.judge(tool, arguments))
    }

    fn command(&self, command: &str) -> &'static str {
        self.short("bash", &json!({ "command": command }))
    }

    fn agree(&self, asking: &Asking, tool: &str, arguments: &Value) {
        let arguments = arguments.as_object().cloned().unwrap();
        let digest = call_digest(tool, &arguments, &self.folder(), asking.target.as_deref(), &asking.grants);
        let consent =
            Consent { working_directory: &self.folder(), digest: &digest, rule: asking.rule.as_ref() };
        assert!(self.gate.remember(&consent, bowline_core::ask::Remembered::Session).is_none());
    }
}

fn short(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Run { .. } => "runs",
        Verdict::Refuse { .. } => "refused",
        Verdict::Ask(asking) => asking.code.as_str(),
    }
}

#[test]
fn table_of_when_to_ask_holds() {
    let rules = json!([
        { "tool": "bash", "prefix": ["git", "push"], "then": "ask", "why": "It leaves this machine." },
        { "tool": "bash", "prefix": ["rm"], "then": "deny" },
        { "tool": "bash", "prefix": ["ls"], "then": "allow" },
    ]);
    for (ask, expected) in [
        (AskMode::Never, ["runs", "runs", "runs", "runs", "refused", "refused", "refused", "refused"]),
        (AskMode::OnRequest, ["runs", "runs", "runs", "runs", "rule", "refused", "path", "unsandboxed"]),
        (
            AskMode::Untrusted,
            ["runs", "runs", "untrusted", "untrusted", "rule", "refused", "path", "unsandboxed"],
        ),
    ] {
        let world = World::new(ask, rules.clone()).confined();
        let found = [
            world.short("read", &json!({ "path": "a" })),
            world.command("ls -l"),
            world.command("echo hi"),
            world.short("write", &json!({ "path": "a", "content": "" })),
            world.command("git push"),
            world.command("rm x"),
            world.short("write", &json!({ "path": "/etc/x", "content": "" })),
            world.short("bash", &json!({ "command": "ls", "unsandboxed": "I need it" })),
        ];
        assert_eq!(found, expected, "{ask:?}");
    }
}

#[test]
fn reading_tools_run_and_unknown_tools_are_asked_about() {
    let world = World::new(AskMode::Untrusted, json!([]));
    for tool in ["read", "grep", "find", "ls", "todo"] {
        assert_eq!(world.short(tool, &json!({ "path": "a", "pattern": "x" })), "runs", "{tool}");
    }
    for tool in ["edit", "task", "mcp__a__b", "other"] {
        assert_eq!(world.short(tool, &json!({ "path": "a" })), "untrusted", "{tool}");
    }
}

#[test]
fn strictest_rule_wins_whatever_the_order() {
    let (allow, ask, deny) = (
        json!({ "prefix": ["git"], "then": "allow" }),
        json!({ "prefix": ["git", "push"], "then": "ask" }),
        json!({ "prefix": ["git", "push", "-f"], "then": "deny" }),
    );
    for rules in [json!([allow, ask, deny]), json!([deny, ask, allow]), json!([ask, deny, allow])] {
        let world = World::new(AskMode::Untrusted, rules);
        assert_eq!(
            [world.command("git status"), world.command("git push"), world.command("git push -f")],
            ["runs", "rule", "refused"]
        );
    }
}

#[test]
fn only_plain_text_is_allowed_and_every_part_must_be() {
    let world = World::new(
        AskMode::Untrusted,
        json!([{ "prefix": ["ls"], "then": "allow" }, { "prefix": [["cat", "head"]], "then": "allow" }]),
    );
    for allowed in ["ls", "ls -l | head -1", "cat a && ls", "ls 2>/dev/null"] {
        assert_eq!(world.command(allowed), "runs", "{allowed}");
    }
    for asked in [
        "ls; rm x",
        "ls > x",
        "ls $(rm x)",
        "A=b ls",
        "./ls",
        "/bin/ls",
        "l*",
        "env ls",
        "ls &",
        "cat <<E\nE",
    ] {
        assert_eq!(world.command(asked), "untrusted", "{asked}");
    }
}

#[test]
fn path_rules_are_about_what_tools_do() {
    let rules = json!([
        { "tool": ["write", "edit"], "path": "migrations/**", "then": "ask" },
        { "tool": "*", "path": "**/.env*", "access": "read", "then": "deny" },
        { "tool": "read", "path": "secret", "then": "deny" },
    ]);
    let world = World::new(AskMode::OnRequest, rules);
    let folder = world.folder();
    for (tool, path, expected) in [
        ("write", "migrations/1.sql", "rule"),
        ("edit", "migrations/a/b.sql", "rule"),
        ("read", "migrations/1.sql", "runs"),
        ("write", "src/migrations.rs", "runs"),
        ("read", ".env", "refused"),
        ("read", "a/b/.env.local", "refused"),
        ("edit", ".env", "refused"),
        ("write", ".env", "runs"),
        ("read", "secret/deep/in/it", "refused"),
        ("read", "./a/../secret/x", "refused"),
    ] {
        assert_eq!(world.short(tool, &json!({ "path": path })), expected, "{tool} {path}");
        let absolute = folder.join(path);
        assert_eq!(world.short(tool, &json!({ "path": absolute })), expected, "{tool} {path}");
    }
}

#[test]
fn links_do_not_evade_path_rules() {
    let world = World::new(AskMode::Never, json!([{ "tool": "*", "path": "secret/**", "then": "deny" }]));
    let folder = world.folder();
    fs::create_dir(folder.join("secret")).unwrap();
    fs::write(folder.join("secret/key"), "").unwrap();
    std::os::unix::fs::symlink(folder.join("secret"), folder.join("other")).unwrap();
    assert_eq!(world.short("read", &json!({ "path": "other/key" })), "refused");
    assert_eq!(world.short("write", &json!({ "path": "other/new" })), "refused");
}

#[test]
fn path_outside_is_granted_by_consent_or_by_an_absolute_rule() {
    let world =
        World::new(AskMode::OnRequest, json!([{ "tool": "*", "path": "**", "then": "allow" }])).confined();
    for path in ["/etc/x", ".git/hooks/a"] {
        let arguments = json!({ "path": path, "content": "" });
        let Verdict::Ask(asking) = world.judge("write", &arguments) else { panic!("{path}") };
        let absolute = world.folder().join(path);
        assert_eq!(asking.grants.paths, std::slice::from_ref(&absolute));
        assert_eq!(asking.rule.as_ref().unwrap()["path"], json!(absolute));
        world.agree(&asking, "write", &arguments);
        let grants = Grants { paths: vec![absolute], ..Grants::default() };
        assert_eq!(world.judge("write", &arguments), Verdict::Run { grants });
        assert_eq!(world.short("write", &json!({ "path": format!("{path}y"), "content": "" })), "path");
    }
}

#[test]
fn file_with_other_names_is_asked_about_only_in_a_sandbox() {
    for (ask, is_confined, expected) in [
        (AskMode::OnRequest, true, "hard-link"),
        (AskMode::Never, true, "refused"),
        (AskMode::OnRequest, false, "runs"),
    ] {
        let mut world = World::new(ask, json!([]));
        world.is_confined = is_confined;
        fs::write(world.folder().join("a"), "").unwrap();
        fs::hard_link(world.folder().join("a"), world.folder().join("b")).unwrap();
        assert_eq!(world.short("write", &json!({ "path": "b", "content": "" })), expected, "{ask:?}");
        assert_eq!(world.short("read", &json!({ "path": "b" })), "runs");
        assert_eq!(world.short("write", &json!({ "path": "new", "content": "" })), "runs");
    }
}

#[test]
fn command_leaves_the_sandbox_only_by_consent_or_by_a_rule_that_says_so() {
    let call = json!({ "command": "cargo build", "unsandboxed": "it needs the network" });
    let world = World::new(AskMode::OnRequest, json!([{ "prefix": ["cargo"], "then": "allow" }])).confined();
    let Verdict::Ask(asking) = world.judge("bash", &call) else { panic!() };
    assert!(asking.grants.unsandboxed && asking.reason.contains("it needs the network"));
    assert_eq!(
        asking.rule,
        Some(json!({ "tool": "bash", "prefix": ["cargo", "build"], "then": "allow", "sandbox": "off" }))
    );
    let rules = json!([{ "prefix": ["cargo"], "then": "allow", "sandbox": "off" }]);
    let world = World::new(AskMode::OnRequest, rules.clone()).confined();
    let grants = Grants { unsandboxed: true, ..Grants::default() };
    assert_eq!(world.judge("bash", &call), Verdict::Run { grants });
    assert_eq!(world.judge("bash", &json!({ "command": "cargo build" })), Verdict::run());
    let chained = json!({ "command": "cargo build; rm x", "unsandboxed": "y" });
    assert_eq!(world.short("bash", &chained), "unsandboxed");
    assert_eq!(World::new(AskMode::Never, rules).confined().short("bash", &call), "refused");
    assert_eq!(World::new(AskMode::OnRequest, json!([])).short("bash", &call), "refused");
    let number = json!({ "command": "ls", "unsandboxed": 7 });
    assert_eq!(world.short("bash", &number), "refused");
}

#[test]
fn agreement_answers_a_rule_that_asks_but_none_that_denies() {
    let rules = json!([{ "prefix": ["git", "push"], "then": "ask" }, { "prefix": ["git", "push", "-f"], "then": "deny" }]);
    let world = World::new(AskMode::OnRequest, rules);
    let call = json!({ "command": "git push origin" });
    let Verdict::Ask(asking) = world.judge("bash", &call) else { panic!() };
    world.agree(&asking, "bash", &call);
    assert_eq!([world.command("git push origin"), world.command("git push other")], ["runs", "runs"]);
    assert_eq!(world.command("git push -f"), "refused");
    // What cannot be a rule is remembered as it is.
    let call = json!({ "command": "git push | cat" });
    let Verdict::Ask(asking) = world.judge("bash", &call) else { panic!() };
    assert_eq!(asking.rule, None);
    world.agree(&asking, "bash", &call);
    assert_eq!([world.command("git push | cat"), world.command("git push | tac")], ["runs", "rule"]);
}

#[test]
fn every_suggested_rule_allows_the_call_that_it_was_suggested_for() {
    for (tool, arguments) in [
        ("bash", json!({ "command": "cargo test -p x" })),
        ("bash", json!({ "command": "ls '[a]'" })),
        ("write", json!({ "path": "a[1]/{b}*.txt", "content": "" })),
        ("edit", json!({ "path": "/etc/x y", "edits": [] })),
        ("mcp__a__b", json!({ "x": 1 })),
    ] {
        let world = World::new(AskMode::Untrusted, json!([])).confined();
        let Verdict::Ask(asking) = world.judge(tool, &arguments) else { panic!("{tool} {arguments}") };
        let rule = asking.rule.clone().unwrap();
        world.agree(&asking, tool, &arguments);
        assert_eq!(world.short(tool, &arguments), "runs", "{rule}");
        let again = World::new(AskMode::Untrusted, json!([rule])).confined();
        // Rules about paths of the project are relative.
        assert_eq!(again.short(tool, &arguments), "runs", "{rule}");
    }
}

#[test]
fn hosts_follow_the_same_table() {
    let rules = json!([
        { "host": "*.example.org", "then": "allow" },
        { "host": "bad.example.org", "then": "deny" },
        { "host": "localhost:8080", "then": "allow" },
    ]);
    for (ask, unknown) in
        [(AskMode::Never, "refused"), (AskMode::OnRequest, "network"), (AskMode::Untrusted, "network")]
    {
        let world = World::new(ask, rules.clone());
        let folder = world.folder();
        let host = |host: &str, port| {
            short(&world.gate.judge_host(&HostName { host, port, working_directory: &folder }))
        };
        assert_eq!(host("a.example.org", 443), "runs");
        assert_eq!(host("A.Example.Org.", 80), "runs");
        assert_eq!(host("bad.example.org", 443), "refused");
        assert_eq!(host("example.org", 443), unknown);
        assert_eq!(host("evil-example.org", 443), unknown);
        assert_eq!(host("a.example.org", 22), unknown);
        assert_eq!(host("localhost", 8080), "runs");
    }
}

#[test]
fn wrong_rules_are_errors_that_say_why() {
    for (rule, expected) in [
        (json!({ "tool": "bash" }), ".then is missing; it must be \"allow\", \"ask\" or \"deny\""),
        (json!({ "then": "ask" }), "it needs a"),
        (
            json!({ "tool": "bash", "then": "maybe" }),
            ".then must be \"allow\", \"ask\" or \"deny\", not \"maybe\"",
        ),
        (
            json!({ "tool": "bash", "then": "ask", "prefx": ["a"] }),
            ".prefx is not known; there are tool, prefix, path",
        ),
        (json!({ "tool": "write", "prefix": ["a"], "then": "ask" }), "\"prefix\" is about commands"),
        (json!({ "tool": 1, "then": "ask" }), ".tool must be a name or a list of names, not 1"),
        (
            json!({ "tool": "*", "path": "a", "access": "r", "then": "ask" }),
            ".access must be \"read\" or \"write\"",
        ),
        (json!({ "prefix": [], "then": "ask" }), "\"prefix\" must be a list"),
        (json!({ "prefix": ["a", []], "then": "ask" }), "\"prefix\" must be a list"),
        (json!({ "prefix": ["git push"], "then": "deny" }), "write [\"git\",\"push\"]"),
        (json!({ "prefix": ["git", ["push", "-f x"]], "then": "deny" }), "a text of its own"),
        (json!({ "tool": "Bash", "then": "deny" }), "write \"bash\""),
        (json!({ "tool": ["read", "WRITE"], "path": "a", "then": "deny" }), "write \"write\""),
        (json!({ "tool": "*", "path": "~root/x", "then": "deny" }), "Write the whole path"),
        (json!({ "prefix": ["a"], "path": "b", "then": "ask" }), "only one of"),
        (json!({ "tool": "bash", "host": "a.example", "then": "ask" }), "cannot have a \"tool\""),
        (json!({ "host": "*", "then": "allow" }), "must be a host"),
        (json!({ "host": "*.org:x", "then": "allow" }), "no valid port"),
        (json!({ "host": "bücher.example", "then": "allow" }), "punycode"),
        (json!({ "tool": "*", "path": "a/../b", "then": "deny" }), "must not have the parts"),
        (json!({ "tool": "*", "path": "a[", "then": "deny" }), "\"path\""),
        (json!({ "tool": "bash", "access": "read", "then": "ask" }), "\"access\" needs a \"path\""),
        (json!({ "tool": "bash", "sandbox": "off", "then": "allow" }), "\"sandbox\": \"off\" needs"),
        (json!({ "prefix": ["a"], "sandbox": "off", "then": "ask" }), "\"sandbox\": \"off\" needs"),
        (json!({ "tool": "bash", "then": "ask", "match": ["a"] }), "\"match\" and \"notMatch\" need"),
        (
            json!({ "prefix": ["git"], "then": "allow", "match": ["git push; rm x"] }),
            "the example \"git push; rm x\" in \"match\" fails: the rule does not match it",
        ),
        (
            json!({ "prefix": ["git"], "then": "ask", "notMatch": ["env git push"] }),
            "the example \"env git push\" in \"notMatch\" fails: the rule matches it",
        ),
        (json!({ "tool": "*", "path": "a/*", "then": "ask", "match": ["b/c"] }), "does not match it"),
        (json!({ "host": "*.a.example", "then": "allow", "match": ["a.example"] }), "does not match"),
    ] {
        let error = Gate::new(Options { rules: vec![rule.clone()], ..Options::default() }).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("approvals.rules[0]") && text.contains(expected), "{rule}: {text}");
    }
}

#[test]
fn forbidden_paths_are_those_that_exist() {
    let rules = json!([
        { "tool": "*", "path": "**/.env*", "access": "read", "then": "deny" },
        { "tool": ["write", "edit"], "path": "migrations/**", "then": "deny" },
        { "tool": "*", "path": "later", "access": "write", "then": "deny" },
        { "tool": "*", "path": "asked/**", "then": "ask" },
    ]);
    let world = World::new(AskMode::Never, rules);
    let folder = world.folder();
    for name in ["a/b/.env", ".env.local", "migrations/1.sql", "asked/x"] {
        fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
        fs::write(folder.join(name), "").unwrap();
    }
    let forbidden = world.gate.forbidden_paths(&folder);
    assert_eq!(forbidden.read, [folder.join(".env.local"), folder.join("a/b/.env")]);
    assert_eq!(forbidden.write, [folder.join("later"), folder.join("migrations/1.sql")]);
    assert_eq!(forbidden.unsearched, []);
}

#[test]
fn folder_that_is_too_large_to_search_is_forbidden_as_a_whole() {
    let rules = json!([{ "tool": "*", "path": "**/.env*", "access": "read", "then": "deny" }]);
    let world = World::new(AskMode::Never, rules);
    let folder = world.folder();
    let deep = (0..40).fold(folder.clone(), |path, _| path.join("d"));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join(".env"), "").unwrap();
    let forbidden = world.gate.forbidden_paths(&folder);
    assert_eq!(forbidden.read, std::slice::from_ref(&folder));
    let expected = Unsearched {
        pattern: "**/.env*".to_owned(),
        folder,
        limit: "folders nested deeper than 32".to_owned(),
    };
    assert_eq!(forbidden.unsearched, [expected]);
}
