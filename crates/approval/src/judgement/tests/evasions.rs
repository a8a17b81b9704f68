//! Ways around the rules that must stay closed: odd arguments, links, options of git.

use super::*;

#[test]
fn no_rule_is_suggested_for_a_command_or_a_path_that_is_not_known() {
    for is_confined in [false, true] {
        let mut world = World::new(AskMode::Untrusted, json!([]));
        world.is_confined = is_confined;
        fs::create_dir_all(world.folder().join("src")).unwrap();
        let suggested = |tool: &str, arguments: Value| match world.judge(tool, &arguments) {
            Verdict::Ask(asking) => asking.rule,
            other => panic!("{tool} {arguments}: {other:?}"),
        };
        for arguments in
            [json!({}), json!({ "cmd": "ls" }), json!({ "command": ["ls"] }), json!({ "command": null })]
        {
            assert_eq!(suggested("bash", arguments), None);
        }
        for path in
            [json!(null), json!(""), json!("."), json!("src"), json!("src/"), json!(["a"]), json!("..")]
        {
            assert_eq!(suggested("write", json!({ "path": path, "content": "x" })), None, "{path}");
        }
        assert_eq!(suggested("edit", json!({ "edits": [] })), None);
        // A number is a text to the tool.
        let rule = json!({ "tool": ["write", "edit"], "path": "7", "then": "allow" });
        assert_eq!(suggested("write", json!({ "path": 7, "content": "x" })), Some(rule));
    }
}

#[test]
fn command_that_is_a_number_is_judged_as_the_text_that_runs() {
    let world = World::new(AskMode::Never, json!([{ "prefix": ["true"], "then": "deny" }]));
    assert_eq!(world.short("bash", &json!({ "command": true })), "refused");
    assert_eq!(world.short("bash", &json!({ "command": false })), "runs");
}

#[test]
fn links_in_a_pattern_do_not_keep_it_from_restricting() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let (real, home) = (root.join("real"), root.join("me"));
    fs::create_dir_all(real.join(".ssh")).unwrap();
    fs::create_dir_all(real.join("p/secret")).unwrap();
    fs::create_dir_all(real.join("p/links")).unwrap();
    fs::write(real.join(".ssh/id"), "").unwrap();
    fs::write(real.join("p/secret/a"), "").unwrap();
    std::os::unix::fs::symlink(&real, &home).unwrap();
    std::os::unix::fs::symlink("secret", real.join("p/slink")).unwrap();
    std::os::unix::fs::symlink(real.join("p/secret/a"), real.join("p/links/a")).unwrap();
    let verdict = |rule: Value, directory: &Path, path: &str| {
        let options = Options { rules: vec![rule], home: Some(home.clone()), ..Options::default() };
        let gate = Gate::new(Options { ask: AskMode::Untrusted, ..options }).unwrap();
        let arguments = json!({ "path": path, "content": "" }).as_object().cloned().unwrap();
        short(&gate.judge(&Call {
            tool: "write".to_owned(),
            traits: traits_of("write"),
            arguments: Arc::new(arguments),
            working_directory: directory.to_owned(),
            confinement: None,
        }))
    };
    for directory in [real.join("p"), home.join("p")] {
        for path in ["~/.ssh/id".to_owned(), format!("{}/.ssh/id", real.display()), "../.ssh/new".to_owned()]
        {
            let rule = json!({ "tool": "*", "path": "~/.ssh/**", "then": "deny" });
            assert_eq!(verdict(rule, &directory, &path), "refused", "{path}");
        }
        for (pattern, path) in [
            ("slink/**", "secret/a"),
            ("slink", "slink/new"),
            ("s*k/**", "slink/new"),
            ("links/**", "links/a"),
            ("links", "links/a"),
        ] {
            let rule = json!({ "tool": "*", "path": pattern, "then": "deny" });
            assert_eq!(verdict(rule, &directory, path), "refused", "{pattern} {path}");
            // A link, which a tool may have made, widens no rule that allows.
            let rule = json!({ "tool": "*", "path": pattern, "then": "allow" });
            assert_eq!(verdict(rule, &directory, path), "untrusted", "{pattern} {path}");
        }
        let rule = json!({ "tool": "*", "path": "~/.ssh/**", "then": "allow" });
        assert_eq!(verdict(rule, &directory, "~/.ssh/new"), "runs", "the home folder is the user's");
    }
}

#[test]
fn rule_about_git_does_not_allow_to_run_or_write_what_an_option_names() {
    let rules = json!([
        { "prefix": ["git", ["status", "diff", "log", "grep", "push", "fetch", "merge"]], "then": "allow" },
        { "prefix": ["git", "show", "--output=x"], "then": "allow" },
    ]);
    let world = World::new(AskMode::Untrusted, rules);
    for allowed in [
        "git status -s",
        "git diff -w --ext-diff -O order",
        "git log --oneline -- src/*.rs",
        "git log --no-ext-diff --output-indicator-new=x",
        "git grep -n -e foo -- .",
        "git push -u origin main",
        "git fetch --all",
        "git show --output=x HEAD",
        "git status *",
    ] {
        assert_eq!(world.command(allowed), "runs", "{allowed}");
    }
    for asked in [
        "git grep --open-files-in-pager=rm foo",
        "git grep --open=rm foo",
        "git grep -Orm foo",
        "git grep -nOrm foo",
        "git grep foo -- -Orm",
        "git grep foo *",
        "git grep foo -*",
        "git diff --output=x",
        "git diff --outp x",
        "git log --format=x --output=y",
        "git push --receive-pack=rm .",
        "git push --exec=rm .",
        "git fetch --upload=rm .",
        "git merge -s x",
    ] {
        assert_eq!(world.command(asked), "untrusted", "{asked}");
    }
}

#[test]
fn call_is_judged_again_after_a_yes() {
    let world = World::new(AskMode::OnRequest, json!([{ "tool": "*", "path": "secret/**", "then": "deny" }]));
    let folder = world.folder();
    for name in ["pub", "secret", "other"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    let link = folder.join("l");
    let arguments = Arc::new(json!({ "path": "l/f", "content": "" }).as_object().cloned().unwrap());
    let judged = |target: &str| {
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(target, &link).unwrap();
        let call = Call {
            tool: "write".to_owned(),
            traits: traits_of("write"),
            arguments: Arc::clone(&arguments),
            working_directory: folder.clone(),
            confinement: None,
        };
        world.gate.judge_again(&call, Some(&folder.join("pub/f")))
    };
    assert_eq!(judged("pub"), Verdict::run());
    for (target, expected) in [("secret", "A rule of the user forbids"), ("other", "leads to another place")]
    {
        let Verdict::Refuse { reason } = judged(target) else { panic!("{target}") };
        assert!(reason.contains(expected), "{reason}");
    }
}
