//! What is found, in which order, and when.

use std::fs;

use bowline_core::slash_command::{CommandKind, Scope};

use super::*;
use crate::options::Wanted;
use crate::skills;

/// A home directory with the user's folder `home/.bowline` and the project `home/work`.
struct Home {
    folder: tempfile::TempDir,
    messages: Arc<Mutex<Vec<String>>>,
}

impl Home {
    fn new(files: &[(&str, &str)]) -> Self {
        let home = Self { folder: tempfile::tempdir().unwrap(), messages: Arc::default() };
        fs::create_dir_all(home.path("work")).unwrap();
        for (path, text) in files {
            home.write(path, text);
        }
        home
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn options(&self) -> ResourceOptions {
        let home = Some(self.folder.path().to_owned());
        ResourceOptions { own_folder: self.path(".bowline"), home, ..ResourceOptions::default() }
    }

    fn with(&self, options: ResourceOptions) -> Resources {
        let messages = Arc::clone(&self.messages);
        Resources::new(options, move |message| lock(&messages).push(message.to_owned()))
    }

    fn trusting(&self) -> Resources {
        self.with(ResourceOptions { approval: Some(true), ..self.options() })
    }

    fn names(&self, resources: &Resources) -> Vec<String> {
        resources.commands(&self.path("work")).into_iter().map(|command| command.name).collect()
    }

    fn expand(&self, resources: &Resources, text: &str) -> Option<String> {
        match resources.expand(&self.path("work"), text) {
            Expansion::Expanded(text) => Some(text),
            Expansion::Unchanged => None,
            Expansion::Failed(failure) => panic!("{failure:?}"),
        }
    }

    fn messages(&self) -> Vec<String> {
        lock(&self.messages).clone()
    }
}

const SKILL: &str = "---\ndescription: d\n---\nBODY";

#[test]
fn commands_come_in_the_order_of_their_places() {
    let home = Home::new(&[
        ("work/.bowline/prompts/tpl.md", "bowline's $1"),
        ("work/.pi/prompts/tpl.md", "pi's"),
        ("work/.pi/prompts/of-pi.md", "x"),
        ("work/.pi/more/from-settings.md", "x"),
        ("work/.pi/settings.json", r#"{"prompts": ["more"]}"#),
        (".bowline/prompts/tpl.md", "user's"),
        (".bowline/prompts/mine.md", "x"),
        (".bowline/prompts/deeper/no.md", "x"),
        ("work/.pi/skills/ps/SKILL.md", SKILL),
        ("work/.agents/skills/agents/SKILL.md", SKILL),
        (".bowline/skills/bad/SKILL.md", SKILL),
        (".bowline/skills/loose.md", SKILL),
        (".bowline/skills/myskill/SKILL.md", SKILL),
        (".agents/skills/ag/SKILL.md", SKILL),
        (".agents/skills/top.md", SKILL),
        ("elsewhere/explicit.md", "x"),
    ]);
    let prompts = Wanted { paths: vec![home.path("elsewhere/explicit.md")], ..Wanted::default() };
    let resources = home
        .with(ResourceOptions { approval: Some(true), prompts, ..home.options() })
        .with_discovered(vec![DiscoveredPath {
            kind: ResourceKind::PromptTemplate,
            path: "../elsewhere".into(),
            extension: home.path("extensions/finder.py").display().to_string(),
            base_folder: Some(home.path("extensions")),
        }]);
    home.write("elsewhere/found.md", "x");
    let expected = [
        "explicit",
        "tpl",
        "from-settings",
        "of-pi",
        "mine",
        "found",
        "skill:ps",
        "skill:agents",
        "skill:bad",
        "skill:skills",
        "skill:myskill",
        "skill:ag",
    ];
    assert_eq!(home.names(&resources), expected);
    assert_eq!(home.expand(&resources, "/tpl one"), Some("bowline's one".to_owned()));
    assert_eq!(home.messages(), [""; 0]);
    let commands = resources.commands(&home.path("work"));
    let info = |name: &str| commands.iter().find(|command| command.name == name).unwrap().source_info.clone();
    let check = |name: &str, source: &str, scope, base: Option<&str>| {
        let info = info(name);
        assert_eq!((info.source.as_str(), info.scope), (source, scope), "{name}");
        assert_eq!(info.base_folder, base.map(|base| home.path(base)), "{name}");
    };
    check("explicit", "cli", Scope::Temporary, None);
    check("tpl", "auto", Scope::Project, Some("work/.bowline"));
    check("from-settings", "local", Scope::Project, None);
    check("mine", "auto", Scope::User, Some(".bowline"));
    check("found", "extension:finder", Scope::Temporary, Some("extensions"));
    check("skill:ag", "auto", Scope::User, Some(".agents"));
    assert_eq!(commands[0].kind, CommandKind::PromptTemplate);
    assert_eq!(info("skill:ps").path, home.path("work/.pi/skills/ps/SKILL.md"));
}

#[test]
fn nothing_of_a_project_is_used_without_trust_and_the_user_is_told_once() {
    let home = Home::new(&[
        ("work/.pi/prompts/tpl.md", "project's"),
        (".bowline/prompts/tpl.md", "user's"),
        ("work/.agents/skills/a/SKILL.md", SKILL),
        ("work/.bowline/SYSTEM.md", "project's system"),
        (".bowline/SYSTEM.md", "user's system"),
        (".bowline/APPEND_SYSTEM.md", "user's addition"),
    ]);
    let resources = home.with(home.options());
    assert!(resources.is_trust_open(&home.path("work")));
    assert_eq!(home.names(&resources), ["tpl"]);
    assert_eq!(home.expand(&resources, "/tpl"), Some("user's".to_owned()));
    let files = resources.instruction_files(&home.path("work"));
    assert_eq!(files.replacement.as_deref(), Some("user's system"));
    assert_eq!(skills::section(&resources.skills(&home.path("work"))), "");
    let messages = home.messages();
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(
        messages[0].contains("not trusted: .bowline/SYSTEM.md, .pi/prompts, .agents/skills. Pass --approve")
    );
    assert!(!resources.is_trust_open(&home.path("work")));
    let trusted = home.trusting();
    let files = trusted.instruction_files(&home.path("work"));
    assert_eq!(files.replacement.as_deref(), Some("project's system"));
    assert_eq!(files.addition.as_deref(), Some("user's addition"));
    assert_eq!(home.names(&trusted), ["tpl", "skill:a"]);
}

#[test]
fn trust_is_decided_by_the_flag_then_the_file_then_the_setting() {
    let home = Home::new(&[("work/.pi/prompts/tpl.md", "x")]);
    let decided = |approval, default_trust| {
        let resources = home.with(ResourceOptions { approval, default_trust, ..home.options() });
        resources.is_trusted(&home.path("work"))
    };
    assert!(!decided(None, DefaultTrust::Ask) && !decided(None, DefaultTrust::Never));
    assert!(decided(None, DefaultTrust::Always) && decided(Some(true), DefaultTrust::Never));
    let file = TrustFile::in_folder(&home.path(".bowline"));
    file.decide(&home.path("work"), Some(false)).unwrap();
    assert!(!decided(None, DefaultTrust::Always) && decided(Some(true), DefaultTrust::Ask));
    file.decide(&home.path("work"), Some(true)).unwrap();
    assert!(decided(None, DefaultTrust::Never) && !decided(Some(false), DefaultTrust::Always));
    home.write(".bowline/trust.json", "broken");
    assert!(!decided(None, DefaultTrust::Always));
    assert!(home.messages().iter().any(|message| message.starts_with("no project is trusted: ")));
}

#[test]
fn decision_holds_for_the_process_and_hooks_come_before_the_file() {
    let home = Home::new(&[("work/.pi/prompts/tpl.md", "x")]);
    let resources = home.with(home.options());
    assert!(!resources.is_trusted(&home.path("work")));
    TrustFile::in_folder(&home.path(".bowline")).decide(&home.path("work"), Some(true)).unwrap();
    assert!(!resources.is_trusted(&home.path("work")), "the file changed after the decision");
    assert!(resources.ask_trust(&home.path("work")).is_none(), "it is decided");
    let resources = home.with(home.options());
    resources.ask_trust(&home.path("work")).unwrap().decide(false);
    assert!(!resources.is_trusted(&home.path("work")));
    let changed =
        resources.with_options(ResourceOptions { default_trust: DefaultTrust::Always, ..home.options() });
    assert!(!changed.is_trusted(&home.path("work")), "other settings change no decision");
    let resources = home.with(ResourceOptions { approval: Some(false), ..home.options() });
    assert!(resources.ask_trust(&home.path("work")).is_none(), "the command line decides first");
}

#[test]
fn nothing_of_a_project_is_used_while_the_question_is_open() {
    let home = Home::new(&[("work/.pi/prompts/tpl.md", "x")]);
    let work = home.path("work");
    TrustFile::in_folder(&home.path(".bowline")).decide(&work, Some(true)).unwrap();
    let resources = home.with(home.options());
    let (one, two) = (resources.ask_trust(&work).unwrap(), resources.ask_trust(&work).unwrap());
    assert!(one.is_needed() && !resources.ask_trust(&home.path("none")).unwrap().is_needed());
    assert!(!resources.is_trusted(&work) && resources.is_trust_open(&work));
    drop(one);
    assert!(!resources.is_trusted(&work), "somebody still asks");
    drop(two);
    assert!(resources.is_trusted(&work), "nobody has decided, so the file does");
    let resources = home.with(home.options());
    let (one, two) = (resources.ask_trust(&work).unwrap(), resources.ask_trust(&work).unwrap());
    one.decide(false);
    two.decide(true);
    drop((one, two));
    assert!(!resources.is_trusted(&work), "the first answer counts");
    let question = home.with(home.options()).ask_trust(&work).unwrap();
    question.remember(false).unwrap();
    assert!(!home.with(home.options()).is_trusted(&work));
}

#[test]
fn resources_that_appear_after_the_start_need_trust_too() {
    let home = Home::new(&[]);
    let resources = home.with(home.options());
    assert_eq!(home.names(&resources), [""; 0]);
    home.write("work/.bowline/prompts/late.md", "x");
    assert_eq!(home.names(&resources), [""; 0]);
    assert_eq!(home.names(&home.trusting()), ["late"]);
}

#[test]
fn unknown_names_stay_text_and_named_ones_that_cannot_be_read_fail() {
    let home = Home::new(&[(".bowline/prompts/t.md", "x $1"), (".bowline/skills/s/SKILL.md", SKILL)]);
    let resources = home.trusting();
    for text in
        ["", "/", "/ t", "t", " /t", "/T", "/unknown x", "/skill:unknown", "/skill:", "/skill", "//t", "/t/x"]
    {
        assert_eq!(home.expand(&resources, text), None, "{text}");
    }
    assert_eq!(home.expand(&resources, "/t a\nb"), Some("x a".to_owned()));
    assert_eq!(home.expand(&resources, "/t\nb"), Some("x b".to_owned()));
    assert!(home.expand(&resources, "/skill:s\nnow").unwrap().ends_with("BODY\n</skill>\n\nnow"));
    home.write(".bowline/skills/s/SKILL.md", &format!("{SKILL}{}", "x".repeat(600_000)));
    let Expansion::Failed(failure) = resources.expand(&home.path("work"), "/skill:s") else { panic!() };
    assert_eq!((failure.event, failure.path), ("skill_expansion", home.path(".bowline/skills/s/SKILL.md")));
    assert!(failure.error.contains("larger than"), "{}", failure.error);
}

#[test]
fn turning_a_kind_off_leaves_what_the_command_line_names() {
    let home = Home::new(&[
        (".bowline/prompts/t.md", "x"),
        (".bowline/skills/s/SKILL.md", SKILL),
        ("given/SKILL.md", SKILL),
        ("template.md", "x"),
    ]);
    let off = |paths| Wanted { is_off: true, paths, entries: Vec::new() };
    let options =
        |skills, prompts| ResourceOptions { skills: off(skills), prompts: off(prompts), ..home.options() };
    assert_eq!(home.names(&home.with(options(vec![], vec![]))), [""; 0]);
    let named = options(vec![home.path("given")], vec![home.path("template.md"), home.path("missing")]);
    assert_eq!(home.names(&home.with(named)), ["template", "skill:given"]);
    assert!(
        home.messages()[0]
            .ends_with("missing is neither a file nor a folder, so no prompts are loaded from it")
    );
}

#[test]
fn settings_exclude_and_names_select() {
    let home = Home::new(&[
        (".bowline/skills/a/SKILL.md", SKILL),
        (".bowline/skills/b/SKILL.md", SKILL),
        (".bowline/skills/c/SKILL.md", SKILL),
        ("shared/d/SKILL.md", SKILL),
    ]);
    let entries = ["~/shared", "!skills/*", "+skills/b"].map(ToOwned::to_owned).to_vec();
    let skills = Wanted { entries, ..Wanted::default() };
    let options = ResourceOptions { skills, ..home.options() };
    assert_eq!(home.names(&home.with(options.clone())), ["skill:d", "skill:b"]);
    let chosen = ResourceOptions { skill_names: Some(vec!["b".to_owned()]), ..options.clone() };
    assert_eq!(home.names(&home.with(chosen)), ["skill:b"]);
    let silent = home.with(ResourceOptions { without_skill_commands: true, ..options });
    assert_eq!(home.names(&silent), [""; 0]);
    assert_eq!(home.expand(&silent, "/skill:b"), None);
    assert!(skills::section(&silent.skills(&home.path("work"))).contains("<name>b</name>"));
}

#[test]
#[cfg(unix)]
fn placed_files_neither_hang_nor_leak() {
    let home = Home::new(&[(".bowline/skills/ok/SKILL.md", SKILL)]);
    for path in ["work/.pi/skills/x", "work/.pi/prompts"] {
        fs::create_dir_all(home.path(path)).unwrap();
    }
    for path in [
        "work/.pi/skills/x/SKILL.md",
        "work/.pi/prompts/p.md",
        "work/.pi/settings.json",
        "work/.pi/SYSTEM.md",
    ] {
        let status = std::process::Command::new("mkfifo").arg(home.path(path)).status().unwrap();
        assert!(status.success());
    }
    std::os::unix::fs::symlink("/proc/self/environ", home.path("work/.pi/prompts/env.md")).unwrap();
    let resources = home.trusting();
    let commands = home.names(&resources);
    assert_eq!(commands, ["skill:ok"]);
    assert_eq!(resources.instruction_files(&home.path("work")), InstructionFiles::default());
    assert!(matches!(resources.expand(&home.path("work"), "/env"), Expansion::Failed(_)));
    assert!(
        home.messages().iter().any(|message| message.contains("SYSTEM.md is a FIFO")),
        "{:?}",
        home.messages()
    );
}

#[test]
fn without_options_there_is_nothing() {
    let resources = Resources::default();
    assert!(resources.is_none() && resources.commands(Path::new("/")).is_empty());
    assert_eq!(resources.expand(Path::new("/"), "/x"), Expansion::Unchanged);
}
