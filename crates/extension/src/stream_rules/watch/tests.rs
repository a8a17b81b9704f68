//! Rules in files, watched for in the updates of an answer.

use std::fs;

use bowline_core::message::ToolCall;
use bowline_core::stream_rule::RuleInterrupt;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::stream_rules::{Loaded, Places, load};

/// A user's folder and a project, with these files.
fn project(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::create_dir_all(root.path().join("work")).unwrap();
    root
}

fn load_from(root: &TempDir, disabled: &[&str]) -> Loaded {
    load(&Places {
        own: root.path().join("home"),
        working: root.path().join("work"),
        disabled: disabled.iter().map(|name| (*name).to_owned()).collect(),
        agent: "main".to_owned(),
    })
}

/// Returns a watch for one rule with these fields.
#[track_caller]
fn watch_for(fields: &str) -> (TempDir, Watch) {
    let root = project(&[("work/.omp/rules/one.md", &format!("---\n{fields}\n---\nDo not.\n"))]);
    let loaded = load_from(&root, &[]);
    assert_eq!(loaded.warnings, [""; 0]);
    (root, Watch::new(loaded.rules.unwrap()))
}

fn all(_: usize) -> bool {
    true
}

impl Watch {
    /// Returns whether the rule matches in a text.
    fn sees_text(&mut self, text: &str) -> bool {
        self.sees(&[
            Update::TextStart { content_index: 0 },
            Update::TextDelta { content_index: 0, delta: text.to_owned() },
            Update::TextEnd { content_index: 0, content: text.to_owned() },
        ])
    }

    fn sees_thinking(&mut self, text: &str) -> bool {
        self.sees(&[
            Update::ThinkingStart { content_index: 0 },
            Update::ThinkingDelta { content_index: 0, delta: text.to_owned() },
            Update::ThinkingEnd { content_index: 0, content: text.to_owned() },
        ])
    }

    fn sees_call(&mut self, tool: &str, arguments: &serde_json::Value) -> bool {
        let call = ToolCall {
            id: "c".to_owned(),
            name: tool.to_owned(),
            arguments: arguments.as_object().unwrap().clone(),
            ..ToolCall::default()
        };
        let start = || Update::ToolCallStart { content_index: 0, id: "c".to_owned(), name: tool.to_owned() };
        let delta = Update::ToolCallDelta { content_index: 0, delta: arguments.to_string() };
        let end = || Update::ToolCallEnd { content_index: 0, call: call.clone() };
        let streamed = self.sees(&[start(), delta, end()]);
        let at_once = self.sees(&[start(), end()]);
        assert_eq!(streamed, at_once);
        streamed
    }

    fn sees(&mut self, updates: &[Update]) -> bool {
        self.restart();
        updates.iter().any(|update| !self.observe(update, all).is_empty())
    }
}

#[test]
fn rule_watches_text_and_tools_unless_it_names_a_scope() {
    let bash = json!({"command": "rm -rf /"});
    let (_root, mut watch) = watch_for(r"condition: 'rm\s+-rf'");
    assert!(watch.sees_text("I will rm -rf it") && watch.sees_call("bash", &bash));
    assert!(!watch.sees_thinking("rm -rf") && !watch.sees_text("rm it"));
    let (_root, mut watch) = watch_for("condition: rm -rf\nscope: thinking, tool:bash");
    assert!(watch.sees_thinking("rm -rf") && watch.sees_call("bash", &bash));
    assert!(!watch.sees_text("rm -rf") && !watch.sees_call("deploy", &bash));
}

#[test]
fn calls_that_change_files_are_searched_for_what_they_add() {
    let edit =
        |path: &str, old: &str, new: &str| json!({"path": path, "edits": [{"oldText": old, "newText": new}]});
    let (_root, mut watch) = watch_for("condition: 'say\\(\"x\"\\)'\nglobs: '*.ts'");
    assert!(watch.sees_call("edit", &edit("src/a.ts", "y", "say(\"x\")")));
    assert!(!watch.sees_call("edit", &edit("src/a.ts", "say(\"x\")", "y")), "only removed");
    assert!(!watch.sees_call("edit", &edit("src/a.rs", "y", "say(\"x\")")), "another file");
    assert!(
        watch.sees_call("write", &json!({"content": "say(\"x\")", "file_path": "a.ts"})),
        "path comes last"
    );
    assert!(!watch.sees_text("say(\"x\")"), "prose is about no file");
}

#[test]
fn other_calls_are_searched_as_json_and_as_text() {
    let (_root, mut watch) = watch_for("condition: ['\"command\":\"git', 'say \"x\"']");
    assert!(watch.sees_call("bash", &json!({"command": "git"})));
    assert!(watch.sees_call("bash", &json!({"command": "say \"x\""})));
    assert!(!watch.sees_call("bash", &json!({"command": "say x"})));
}

#[test]
fn rule_is_reported_once_in_a_block_and_only_when_due() {
    let (_root, mut watch) = watch_for("condition: bad");
    let delta = Update::TextDelta { content_index: 0, delta: "bad bad ".to_owned() };
    watch.observe(&Update::TextStart { content_index: 0 }, all);
    assert_eq!(watch.observe(&delta, |_| false), []);
    assert_eq!(watch.observe(&Update::TextDelta { content_index: 7, delta: "bad ".to_owned() }, all), []);
    assert_eq!(watch.observe(&Update::TextEnd { content_index: 0, content: String::new() }, all).len(), 1);
    assert!(watch.sees_text("bad ") && watch.sees_text("bad"));
}

#[test]
fn interleaved_blocks_are_searched_apart() {
    let (_root, mut watch) = watch_for("condition: abcd");
    for content_index in [0, 1] {
        watch.observe(&Update::TextStart { content_index }, all);
    }
    let mut feed = |content_index, delta: &str| {
        watch.observe(&Update::TextDelta { content_index, delta: delta.to_owned() }, all).len()
    };
    assert_eq!((feed(0, "ab"), feed(1, "cd "), feed(1, "x"), feed(0, "cd.")), (0, 0, 0, 1));
}

#[test]
fn files_are_searched_in_order_and_the_first_of_a_name_counts() {
    let rule = |text: &str| format!("---\ncondition: x\n---\n{text}\n");
    let root = project(&[
        ("home/rules/a.md", &rule("mine")),
        ("work/.omp/rules/a.md", &rule("of the project")),
        ("work/.omp/rules/b.mdc", &rule("b")),
        ("work/.omp/rules/c.txt", &rule("no rule")),
        ("work/.cursor/rules/d.mdc", "---\nglobs: *.ts\nalwaysApply: true\n---\nno condition"),
        ("work/.cursor/rules/e.md", &rule("e")),
        ("work/.clinerules/f.md", &rule("f")),
        ("work/.agents/rules/g.md", "---\nttsr_trigger: y\nagents: [sub*]\n---\n"),
        ("work/.agents/rules/h.md", "---\nttsrTrigger: y\nagents: sub*, main\ninterruptMode: never\n---\n"),
        ("work/.agents/rules/i.md", "---\ncondition: y\nenabled: false\n---\n"),
    ]);
    let Loaded { rules, warnings } = load_from(&root, &["f"]);
    assert_eq!(warnings, [""; 0]);
    let rules = rules.unwrap();
    let found: Vec<_> = (0..).map_while(|index| rules.rule(index)).collect();
    let names: Vec<_> = found.iter().map(|rule| (rule.name.as_str(), rule.content.as_str())).collect();
    assert_eq!(names, [("a", "mine"), ("b", "b"), ("e", "e"), ("h", "")]);
    assert!(found[0].origin.is_own && !found[1].origin.is_own);
    assert_eq!((found[3].interrupt, found[3].origin.program), (Some(RuleInterrupt::Never), "agents"));
    assert_eq!(rules.shown_path(found[1]).to_str(), Some(".omp/rules/b.mdc"));
    assert!(rules.shown_path(found[0]).is_absolute());
}

#[test]
fn what_is_wrong_with_a_rule_is_said() {
    let root = project(&[
        ("work/.omp/rules/a.md", "---\ncondition: '('\n---\n"),
        (
            "work/.omp/rules/b.md",
            "---\ncondition: ['(?=x)', ok]\nscope: [text, 'what ever']\ninterruptMode: maybe\n---\n",
        ),
        ("work/.omp/rules/c.md", "---\nastCondition: 'foo($A)'\n---\n"),
        ("work/.omp/rules/d.md", "---\ncondition: x\nnonsense\n---\n"),
        ("work/.omp/rules/e.md", "---\ncondition: x\nscope: ['!']\n---\n"),
        ("work/.omp/rules/f.md", "---\ncondition: x\nglobs: '['\n---\n"),
        ("work/.omp/rules/g.md", &format!("---\ncondition: x\n---\n{}", "x".repeat(70_000))),
        ("work/.omp/rules/h.md", "---\ncondition: x\n"),
    ]);
    let Loaded { rules, warnings } = load_from(&root, &[]);
    let said = warnings.join("\n");
    for expected in [
        "a.md: the condition `(` is ignored: unclosed group",
        "a.md: the rule is not used: it has no condition that can be searched for",
        "b.md: the condition `(?=x)` is ignored: look-around",
        "b.md: the scope `what ever` is ignored",
        "b.md: interruptMode `maybe` is ignored",
        "c.md: astCondition is not supported",
        "d.md: the rule is not used: line 3",
        "e.md: the rule is not used: its scope names nothing",
        "f.md: the rule is not used: the glob `[`",
        "g.md is larger than 65536 bytes",
        "h.md: the rule is not used: line 1: the fields have no end",
    ] {
        assert!(said.contains(expected), "{expected}\n{said}");
    }
    let rules = rules.unwrap();
    assert_eq!((rules.rule(0).unwrap().name.as_str(), rules.rule(1)), ("b", None));
}

#[test]
#[cfg(unix)]
fn placed_files_neither_hang_nor_leak() {
    use std::os::unix::fs::symlink;
    let root = project(&[
        ("secret/key.md", "---\ncondition: x\n---\nsecret"),
        ("work/.omp/rules/good.md", "---\ncondition: x\n---\ngood"),
        ("work/inside.md", "---\ncondition: x\n---\nlinked"),
    ]);
    let folder = root.path().join("work/.omp/rules");
    symlink("../../../secret/key.md", folder.join("leak.md")).unwrap();
    symlink("../../inside.md", folder.join("link.md")).unwrap();
    symlink("/dev/zero", folder.join("zero.md")).unwrap();
    symlink("../secret", root.path().join("work/.clinerules")).unwrap();
    std::process::Command::new("mkfifo").arg(folder.join("fifo.md")).status().unwrap();
    let Loaded { rules, warnings } = load_from(&root, &[]);
    let rules = rules.unwrap();
    let names: Vec<_> = (0..).map_while(|index| rules.rule(index)).map(|rule| rule.name.as_str()).collect();
    assert_eq!(names, ["good", "link"]);
    assert_eq!(warnings.len(), 4, "{warnings:?}");
}

#[test]
fn number_of_rules_is_bounded() {
    let files: Vec<_> = (0..120).map(|number| format!("work/.omp/rules/{number:03}.md")).collect();
    let files: Vec<_> = files.iter().map(|path| (path.as_str(), "---\ncondition: x\n---\n")).collect();
    let Loaded { rules, warnings } = load_from(&project(&files), &[]);
    assert!(rules.unwrap().rule(100).is_none());
    assert_eq!(warnings.len(), 20);
}

#[test]
fn every_byte_is_looked_at_once_however_long_the_text() {
    let (_root, mut watch) = watch_for("condition: ['a[^b]*c.{0,50}d', '(?i)never\\s+this']\nscope: text");
    watch.observe(&Update::TextStart { content_index: 0 }, all);
    let delta = "some words of prose a b ";
    for _ in 0..2000 {
        watch.observe(&Update::TextDelta { content_index: 0, delta: delta.to_owned() }, all);
    }
    let Some(Block { kind: Kind::Text(search), .. }) = watch.blocks.get(&0) else { panic!() };
    assert_eq!(search.looked_at, 2000 * delta.len());
    watch.observe(&Update::ThinkingStart { content_index: 1 }, all);
    assert_eq!(watch.blocks.len(), 1, "what no rule is about is not looked at");
}
