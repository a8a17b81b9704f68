//! `bowline install`, `remove`, `list` and `update`.

use std::fs;

use bowline_testkit::Workspace;
use serde_json::json;

use crate::{launch, listed, packed, run, settings, shared, with_tool};

#[test]
fn package_of_npm_is_installed_listed_updated_and_removed() {
    let workspace = with_tool();
    let source = packed(&workspace);
    let installed = run(&workspace, &["install", &source]);
    assert_eq!(installed.code, 0, "{installed:?}");
    assert!(installed.stdout.contains("1 extension, 1 skill, 1 prompt template"), "{installed:?}");
    assert!(installed.stderr.starts_with("Installing my-tool@file:"), "{installed:?}");

    let npm = shared(&workspace).join("npm");
    let root = npm.join("node_modules/my-tool");
    assert!(root.join("tool.ts").is_file());
    assert_eq!(fs::read_to_string(npm.join(".gitignore")).unwrap(), "*\n!.gitignore\n");
    let package: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(npm.join("package.json")).unwrap()).unwrap();
    assert_eq!((&package["name"], &package["private"]), (&json!("pi-extensions"), &json!(true)));
    assert_eq!(settings(&shared(&workspace)), json!({ "packages": [source] }));

    let expected = json!({
        "source": source, "from": "user", "version": "1.0.0", "path": root, "problem": null, "filtered": false,
        "extensions": 1, "skills": 1, "prompts": 1,
    });
    assert_eq!(listed(&workspace, &[]), [expected]);
    assert_eq!(run(&workspace, &["update"]).succeeded(), "1 package is up to date.\n");
    assert_eq!(run(&workspace, &["install", &source]).code, 0);
    assert_eq!(settings(&shared(&workspace))["packages"].as_array().unwrap().len(), 1, "it is there once");

    assert_eq!(run(&workspace, &["remove", "npm:my-tool"]).succeeded(), "Removed npm:my-tool.\n");
    assert!(!root.exists());
    assert_eq!(settings(&shared(&workspace)), json!({ "packages": [] }));
    assert_eq!(listed(&workspace, &[]).len(), 0);
}

#[test]
fn path_is_recorded_relative_to_the_settings_and_stays_where_it_is() {
    let workspace = with_tool();
    run(&workspace, &["install", "../tool"]).succeeded();
    assert_eq!(settings(&shared(&workspace)), json!({ "packages": ["../../tool"] }));
    run(&workspace, &["install", "--local", "--approve", "../tool"]).succeeded();
    assert_eq!(settings(&workspace.work().join(".pi")), json!({ "packages": ["../../tool"] }));
    let found = listed(&workspace, &["--approve"]);
    assert_eq!(found.len(), 1, "the project's takes the place of the user's: {found:?}");
    assert_eq!(found[0]["from"], "project");
    run(&workspace, &["uninstall", "-l", "--approve", "../tool"]).succeeded();
    assert_eq!(listed(&workspace, &["--approve"])[0]["from"], "user");
    assert!(workspace.home().join("tool/tool.ts").is_file());
    let nothing = run(&workspace, &["update"]).succeeded();
    assert!(nothing.starts_with("There is nothing to update"), "{nothing}");
}

#[test]
fn rest_of_the_settings_stays_as_it_is() {
    let before = "{\n\t\"theme\": \"dark\",\n\t\"packages\": [ {\"source\": \"../../tool\", \"skills\": []} ],\n\t\"n\": 1.50\n}\n";
    let workspace = with_tool().home_file(".pi/agent/settings.json", before).home_file("other/index.ts", "");
    run(&workspace, &["install", "../tool"]).succeeded();
    let path = shared(&workspace).join("settings.json");
    assert_eq!(fs::read_to_string(&path).unwrap(), before, "the entry is there, with what it leaves out");
    run(&workspace, &["install", "../other"]).succeeded();
    let expected = before.replace(
        "[ {\"source\": \"../../tool\", \"skills\": []} ]",
        "[\n    {\"source\": \"../../tool\", \"skills\": []},\n    \"../../other\"\n  ]",
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    let broken = with_tool().home_file(".pi/agent/settings.json", "{ // mine\n}");
    let refused = run(&broken, &["install", "../tool"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(fs::read_to_string(shared(&broken).join("settings.json")).unwrap(), "{ // mine\n}");
}

#[test]
fn packages_of_a_project_need_trust() {
    let workspace = with_tool();
    for command in ["install", "remove"] {
        let refused = run(&workspace, &[command, "-l", "../tool"]);
        assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:?}");
        assert!(refused.stderr.contains("this project is not trusted"), "{refused:?}");
    }
    assert!(!workspace.work().join(".pi").exists());
    let workspace = workspace.file(".pi/settings.json", r#"{"packages": ["git:example.com/me/tools"]}"#);
    assert_eq!(listed(&workspace, &[]).len(), 0);
    let nothing = run(&workspace, &["update"]);
    assert!(nothing.stdout.starts_with("There is nothing to update"), "{nothing:?}");
    assert!(!workspace.work().join(".pi/git").exists());
}

#[test]
fn project_names_no_program_and_no_folder_elsewhere() {
    let workspace = with_tool();
    let mark = workspace.home().join("mark");
    let command = json!({ "npmCommand": ["touch", mark], "packages": [] });
    let workspace = workspace.file(".pi/settings.json", &command.to_string());
    let source = packed(&workspace);
    run(&workspace, &["install", "-l", "--approve", &source]).succeeded();
    assert!(!mark.exists(), "npmCommand of a project has no effect");
    assert!(workspace.work().join(".pi/npm/node_modules/my-tool/tool.ts").is_file());

    let workspace = with_tool();
    let elsewhere = workspace.home().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::create_dir_all(workspace.work().join(".pi")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, workspace.work().join(".pi/npm")).unwrap();
    let refused = run(&workspace, &["install", "-l", "--approve", "npm:my-tool"]);
    assert!(refused.stderr.contains("leads out of the project"), "{refused:?}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn failures_say_what_to_do() {
    let workspace = Workspace::empty().home_file("plain/readme.md", "Nothing.");
    let check = |arguments: &[&str], expected: &str| {
        let failed = run(&workspace, arguments);
        assert_eq!(failed.code, 1, "{failed:?}");
        assert!(failed.stderr.contains(expected), "{expected}: {failed:?}");
        assert!(!shared(&workspace).join("settings.json").exists());
    };
    check(&["install", "npm:gone"], "the registry cannot be reached; are you offline?");
    check(&["install", "pi-subagents"], "does not exist; a package of npm is named npm:pi-subagents");
    check(&["install", "npm:--global"], "\"--global\" is not a name of an npm package");
    check(&["install", "git:ext::sh -c x"], "is not the address of a git repository");
    check(&["install", "--temporary", "../plain"], "needs no installation");
    check(&["remove", "npm:gone"], "no settings of yours name npm:gone");
    check(&["update", "npm:gone"], "no settings of yours name npm:gone");
    check(&["install", "a", "b"], "packages are named one at a time");
    let without_npm =
        launch(&workspace).environment("PATH", "/nowhere").arguments(&["install", "npm:x"]).run();
    assert!(without_npm.stderr.contains("npm is not installed: install Node.js"), "{without_npm:?}");
    let unlike = run(&workspace, &["install", "../plain"]);
    assert!(unlike.stderr.contains("is not a package of pi"), "{unlike:?}");
    let usage = run(&workspace, &["install"]);
    assert_eq!(usage.code, 2, "{usage:?}");
}

#[test]
fn other_programs_can_stand_for_npm() {
    let workspace = with_tool();
    let log = workspace.home().join("log");
    let script = format!("echo \"$@\" >> {}", log.display());
    let command = json!({ "npmCommand": ["sh", "-c", script, "--", "pnpm"] });
    let workspace = workspace.home_file(".pi/agent/settings.json", &command.to_string());
    let failed = run(&workspace, &["install", "npm:@me/x@^1"]);
    assert!(failed.stderr.contains("is not where it should be"), "it installs nothing: {failed:?}");
    let prefix = shared(&workspace).join("npm");
    let expected = format!(
        "pnpm install @me/x@^1 --prefix {} --config.auto-install-peers=false \
         --config.strict-peer-dependencies=false --config.strict-dep-builds=false\n",
        prefix.display()
    );
    assert_eq!(fs::read_to_string(log).unwrap(), expected);
}

#[test]
fn bowline_started_as_pi_installs_too() {
    let workspace = with_tool();
    launch(&workspace).program_name("pi").arguments(&["install", "../tool"]).run().succeeded();
    assert_eq!(settings(&shared(&workspace)), json!({ "packages": ["../../tool"] }));
}

#[test]
fn without_the_folder_of_pi_packages_are_in_that_of_bowline() {
    let workspace = with_tool().settings(json!({ "piFolder": false }));
    run(&workspace, &["install", "../tool"]).succeeded();
    assert_eq!(settings(&workspace.configuration())["packages"], json!(["../tool"]));
    assert!(!shared(&workspace).exists());
}

#[test]
fn installations_at_the_same_time_are_all_kept() {
    let names = ["a", "b", "c"];
    let mut workspace = Workspace::empty();
    for name in names {
        let manifest = json!({ "name": name, "version": "1.0.0", "pi": { "extensions": ["x.ts"] } });
        workspace = workspace
            .home_file(&format!("{name}/package.json"), &manifest.to_string())
            .home_file(&format!("{name}/x.ts"), "");
    }
    std::thread::scope(|scope| {
        for name in names {
            let workspace = &workspace;
            scope.spawn(move || {
                run(workspace, &["install", &format!("npm:{name}@file:../{name}")]).succeeded();
            });
        }
    });
    let found = listed(&workspace, &[]);
    assert_eq!(found.len(), names.len(), "{found:?}");
    assert!(found.iter().all(|package| package["extensions"] == 1), "{found:?}");
}

#[test]
fn failed_installation_leaves_settings_as_they_are() {
    let workspace = with_tool().home_file(".pi/agent/settings.json", "{}\n");
    // npm makes a link to a folder that is not there, and says that it is content.
    let failed = run(&workspace, &["install", "npm:gone@file:/nowhere"]);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert_eq!(settings(&shared(&workspace)), json!({}));

    let workspace = workspace.home_file(".pi/agent/settings.json", "{ broken");
    let source = packed(&workspace);
    let failed = run(&workspace, &["install", &source]);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.stderr.contains("it is not a JSON object"), "{failed:?}");
    assert!(!shared(&workspace).join("npm/node_modules/my-tool").exists(), "nothing is installed");
}
