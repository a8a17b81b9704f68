//! `bowline config`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use bowline_testkit::{Finished, Launch, Workspace};
use serde_json::{Value, json};

#[track_caller]
fn config(workspace: &Workspace, words: &[&str]) -> Finished {
    Launch::bowline(workspace).arguments(&["config"]).arguments(words).run()
}

#[track_caller]
fn refused(workspace: &Workspace, words: &[&str], expected: &str) {
    let finished = config(workspace, words);
    assert_eq!((finished.code, finished.stdout.as_str()), (1, ""), "{words:?}: {}", finished.stderr);
    assert!(finished.stderr.contains(expected), "{words:?}: {}", finished.stderr);
}

fn record(workspace: &Workspace, words: &[&str]) -> Value {
    let finished = config(workspace, &[words, &["--json"]].concat());
    finished.records().swap_remove(0)
}

fn file(workspace: &Workspace) -> String {
    fs::read_to_string(workspace.configuration().join("settings.json")).unwrap()
}

#[test]
fn every_setting_is_shown_with_its_source() {
    let workspace =
        Workspace::empty().settings(json!({ "maxTurns": 7, "retry": { "maxRetries": 1 }, "theme": "dark" }));
    let records = config(&workspace, &["show", "--json"]).records();
    let help = Launch::bowline(&workspace).arguments(&["help", "settings"]).run().succeeded();
    let listed = help.lines().filter_map(|line| line.split_once(" (default: ")).map(|(name, _)| name);
    let shown: Vec<_> = records.iter().map(|record| record["name"].as_str().unwrap()).collect();
    assert_eq!(shown, listed.collect::<Vec<_>>());
    let of_user: Vec<_> = records.iter().filter(|record| record["source"] == "user").collect();
    let place = workspace.configuration().join("settings.json");
    assert_eq!(of_user.len(), 2);
    assert_eq!(
        *of_user[1],
        json!({ "name": "maxTurns", "value": 7, "source": "user", "from": place, "default": "500" })
    );
    // The limit of a run follows the older setting.
    assert_eq!(record(&workspace, &["get", "limits.run.turns"])["value"], 7);
    let text = config(&workspace, &["show"]).succeeded();
    assert!(text.starts_with(&format!("From your settings ({})\n", place.display())), "{text}");
    assert!(text.contains("\nDefaults\n") && text.contains("  maxTurns "), "{text}");
    let group = config(&workspace, &["show", "retry"]).succeeded();
    assert_eq!(group.lines().filter(|line| line.contains("retry.")).count(), 4, "{group}");
}

#[test]
fn flags_variables_projects_and_pi_take_part() {
    let workspace = Workspace::empty()
        .settings(json!({ "sessionDir": "/a", "skills": ["of-user"], "sandbox": { "mode": "read-only" } }))
        .home_file(".pi/agent/settings.json", r#"{"extensions": ["of-pi"], "npmCommand": ["pnpm"]}"#)
        .file(".bowline/settings.json", r#"{"skills": ["of-project"], "maxTurns": 1}"#);
    let with_variable = Launch::bowline(&workspace)
        .environment("PI_CODING_AGENT_SESSION_DIR", "/b")
        .arguments(&["config", "get"]);
    let given = with_variable.arguments(&["sessionDir", "--json"]).run().records().swap_remove(0);
    assert_eq!(
        (&given["value"], &given["source"], &given["from"]),
        (&json!("/b"), &json!("environment"), &json!("PI_CODING_AGENT_SESSION_DIR"))
    );
    let mode = record(&workspace, &["get", "sandbox.mode", "--sandbox", "workspace-write"]);
    assert_eq!((&mode["value"], &mode["from"]), (&json!("workspace-write"), &json!("--sandbox")));
    assert_eq!(record(&workspace, &["get", "skills"])["value"], json!(["of-user"]), "not trusted");
    let skills = record(&workspace, &["get", "skills", "--approve", "--skill", "of-flag"]);
    assert_eq!(skills["value"], json!(["of-flag", "of-project", "of-user"]));
    let sources: Vec<_> = skills["parts"].as_array().unwrap().iter().map(|part| &part["source"]).collect();
    assert_eq!(sources, ["flag", "project", "user"]);
    assert_eq!(record(&workspace, &["get", "maxTurns", "--approve"])["value"], 500, "not of a project");
    for (name, expected) in [("extensions", json!(["of-pi"])), ("npmCommand", json!(["pnpm"]))] {
        let shown = record(&workspace, &["get", name]);
        assert_eq!((&shown["value"], &shown["source"]), (&expected, &json!("pi")));
    }
    assert_eq!(record(&workspace, &["get", "ttsr.enabled"])["value"], false);
    assert_eq!(record(&workspace, &["get", "ttsr.enabled", "--dialect", "omp"])["value"], true);
}

#[test]
fn values_are_printed_for_scripts() {
    let workspace = Workspace::empty().settings(json!({ "defaultModel": "m", "enabledModels": ["a", "b"] }));
    for (name, expected) in
        [("defaultModel", "m\n"), ("enabledModels", "[\"a\",\"b\"]\n"), ("maxTurns", "500\n")]
    {
        assert_eq!(config(&workspace, &["get", name]).succeeded(), expected);
    }
    refused(&workspace, &["get", "defaultProvider"], "defaultProvider is not set; the default is: none");
    refused(&workspace, &["get", "retry"], "is a group of settings: retry.enabled, ");
}

#[test]
fn change_keeps_the_rest_of_the_file_and_its_permissions() {
    let before = "{\n\t\"theme\" : \"dark\",\n\t\"retry\":{\"enabled\":true},\n\t\"mine\": 1.50e3\n}";
    let workspace = Workspace::empty().home_file(".bowline/settings.json", before);
    let path = workspace.configuration().join("settings.json");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(
        config(&workspace, &["set", "retry.maxRetries", "5"]).succeeded(),
        format!("retry.maxRetries is 5 in {} from the next start on.\n", path.display())
    );
    config(&workspace, &["set", "defaultModel", "some model"]).succeeded();
    let expected = before
        .replace("true}", "true, \"maxRetries\": 5}")
        .replace("1.50e3", "1.50e3,\n\t\"defaultModel\": \"some model\"");
    assert_eq!(file(&workspace), expected);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    config(&workspace, &["unset", "retry.maxRetries"]).succeeded();
    config(&workspace, &["unset", "defaultModel"]).succeeded();
    assert_eq!(file(&workspace), before);
    refused(&workspace, &["unset", "defaultModel"], "defaultModel is not in ");
    assert_eq!(fs::read_dir(workspace.configuration()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn new_file_is_for_the_user_alone_and_a_link_is_kept() {
    let workspace = Workspace::empty();
    let path = workspace.configuration().join("settings.json");
    config(&workspace, &["set", "maxTurns", "5"]).succeeded();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let real = workspace.home().join("dotfiles.json");
    fs::rename(&path, &real).unwrap();
    std::os::unix::fs::symlink(&real, &path).unwrap();
    config(&workspace, &["set", "maxTurns", "6"]).succeeded();
    assert!(path.symlink_metadata().unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("\"maxTurns\": 6"));
}

#[test]
fn values_that_a_start_would_refuse_are_refused_in_the_same_words() {
    let workspace = Workspace::empty();
    for (name, value, expected) in [
        (
            "maxTurns",
            "many",
            "maxTurns must be a whole number from 0 to 1000000, not \"many\"; for example: {\"maxTurns\": 100}",
        ),
        ("steeringMode", "weird", "steeringMode must be \"one-at-a-time\" or \"all\", not \"weird\""),
        ("defaultTools", "[\"raed\"]", "There is no tool named `raed`. The tools are: read, bash"),
        (
            "sandbox.network",
            "none",
            "sandbox.network is \"none\", but tools use the network of this machine unless",
        ),
        ("sandbox.writable", "[\"cache\"]", "sandbox.writable: \"cache\" must be an absolute path"),
        ("approvals.rules", "[{\"tool\": 1}]", "approvals.rules[0]"),
        ("maxTurn", "5", "\"maxTurn\" is not a setting; did you mean \"maxTurns\"?"),
        ("enabledModels", "[a", "the value for enabledModels is not JSON: "),
        ("maxTurns", "null", "bowline config unset maxTurns"),
    ] {
        refused(&workspace, &["set", name, value], expected);
    }
    assert!(!workspace.configuration().join("settings.json").exists());
    // One of two mistakes can be corrected.
    let broken = Workspace::empty().settings(json!({ "maxTurns": "x", "sandbox": { "network": "none" } }));
    let first = config(&broken, &["set", "maxTurns", "5"]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert!(first.stderr.contains("still keeps bowline from starting"), "{}", first.stderr);
    assert_eq!(config(&broken, &["set", "sandbox.mode", "read-only"]).code, 0);
    let not_json = Workspace::empty().home_file(".bowline/settings.json", "// mine\n{}");
    refused(&not_json, &["set", "maxTurns", "5"], "it is not changed, because it is not a JSON object");
    assert_eq!(file(&not_json), "// mine\n{}");
}

#[test]
fn settings_of_a_project_need_trust_and_an_effect() {
    let workspace = Workspace::empty();
    let own = workspace.work().join(".bowline/settings.json");
    let path = format!("{}\n", own.display());
    assert_eq!(config(&workspace, &["path", "--project"]).succeeded(), path);
    refused(
        &workspace,
        &["set", "--project", "maxTurns", "5"],
        "maxTurns has no effect in the settings of a project",
    );
    refused(&workspace, &["set", "--project", "skills", "[\"a\"]"], "this project is not trusted");
    assert!(!own.exists());
    config(&workspace, &["set", "--project", "--approve", "skills", "[\"a\"]"]).succeeded();
    assert_eq!(fs::read_to_string(&own).unwrap(), "{\n  \"skills\": [\"a\"]\n}\n");
    // A link must not lead to a file of the user's.
    let outside = workspace.home().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::remove_dir_all(own.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&outside, own.parent().unwrap()).unwrap();
    refused(&workspace, &["set", "--project", "--approve", "skills", "[\"a\"]"], "leads out of the project");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn secrets_are_never_shown() {
    let key = "hunter2hunter2";
    let servers = json!({ "a": { "command": "x", "args": ["--token", key], "env": { "PLAIN": key } },
        "b": { "url": format!("https://me:{key}@example.org/mcp?token={key}"), "headers": { "X": key } } });
    let workspace = Workspace::empty().settings(
        json!({ "mcpServers": servers, "shellCommandPrefix": format!("export API_KEY={key}; true") }),
    );
    let one = format!("{{\"command\": \"x\", \"env\": {{\"A\": \"{key}\"}}}}");
    for words in [
        &["show"][..],
        &["show", "--json"],
        &["get", "mcpServers"],
        &["get", "mcpServers.a", "--json"],
        &["get", "shellCommandPrefix"],
        &["set", "mcpServers.c", &one],
    ] {
        let finished = config(&workspace, words);
        assert_eq!(finished.code, 0, "{words:?}: {}", finished.stderr);
        assert!(
            !finished.stdout.contains(key) && !finished.stderr.contains(key),
            "{words:?}: {}",
            finished.stdout
        );
    }
    assert!(file(&workspace).matches(key).count() == 7, "{}", file(&workspace));
}

#[test]
fn words_that_are_missing_are_asked_for() {
    let workspace = Workspace::empty();
    refused(&workspace, &["get"], "which setting? bowline config get NAME");
    refused(&workspace, &["set", "maxTurns"], "which value? bowline config set NAME VALUE");
    refused(&workspace, &["unset"], "which setting? bowline config unset NAME");
    let finished = config(&workspace, &[]);
    assert_eq!(finished.code, 2);
    assert!(finished.stdout.starts_with("bowline config show [NAME]"), "{}", finished.stdout);
}
