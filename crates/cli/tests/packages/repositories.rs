//! Packages from git.

use std::fs;

use bowline_testkit::Workspace;
use serde_json::json;

use crate::{ADDRESS, git, listed, run, settings, shared};

/// Returns a workspace with a repository that has an extension, and the tag `v1`.
fn with_repository() -> Workspace {
    let workspace = Workspace::empty().home_file("repository/extensions/tool.ts", "// one\n");
    let folder = workspace.home().join("repository");
    git(&folder, &["init", "--quiet", "--initial-branch", "main"]);
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "--quiet", "--message", "one"]);
    git(&folder, &["tag", "v1"]);
    workspace
}

fn change(workspace: &Workspace) {
    let folder = workspace.home().join("repository");
    fs::write(folder.join("extensions/tool.ts"), "// two\n").unwrap();
    git(&folder, &["commit", "--quiet", "--all", "--message", "two"]);
}

#[test]
fn repository_is_cloned_updated_and_removed() {
    let workspace = with_repository();
    run(&workspace, &["install", ADDRESS]).succeeded();
    let clone = shared(&workspace).join("git/example.com/me/tools");
    let text = || fs::read_to_string(clone.join("extensions/tool.ts")).unwrap();
    assert_eq!(text(), "// one\n");
    assert_eq!(settings(&shared(&workspace)), json!({ "packages": [ADDRESS] }));
    assert_eq!(listed(&workspace, &[])[0]["extensions"], 1);

    change(&workspace);
    fs::write(clone.join("extensions/tool.ts"), "// mine\n").unwrap();
    assert_eq!(
        run(&workspace, &["update", "git:example.com/me/tools"]).succeeded(),
        "1 package is up to date.\n"
    );
    assert_eq!(text(), "// two\n");

    run(&workspace, &["install", "git:example.com/me/tools@v1"]).succeeded();
    assert_eq!(text(), "// one\n");
    assert_eq!(settings(&shared(&workspace)), json!({ "packages": ["git:example.com/me/tools@v1"] }));
    run(&workspace, &["update"]).succeeded();
    assert_eq!(text(), "// one\n", "a reference is kept");

    run(&workspace, &["remove", ADDRESS]).succeeded();
    let left: Vec<_> = fs::read_dir(shared(&workspace).join("git")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "only .gitignore: {left:?}");
}

#[test]
fn failed_clone_leaves_nothing_behind() {
    let workspace = with_repository();
    let failed = run(&workspace, &["install", &format!("{ADDRESS}@v9")]);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.stderr.contains("the repository has no such branch, tag or commit"), "{failed:?}");
    assert!(!shared(&workspace).join("git/example.com").exists());
    assert!(!shared(&workspace).join("settings.json").exists());
}

#[test]
fn one_failure_does_not_keep_others_from_being_updated() {
    let workspace = with_repository();
    let packages = json!({ "packages": ["npm:gone", ADDRESS] });
    let workspace = workspace.home_file(".pi/agent/settings.json", &packages.to_string());
    let updated = run(&workspace, &["update"]);
    assert_eq!(updated.code, 1, "{updated:?}");
    assert!(shared(&workspace).join("git/example.com/me/tools/extensions/tool.ts").is_file());
    let found = listed(&workspace, &[]);
    let problem = "it is not installed; to install it, run: bowline install npm:gone";
    assert_eq!(found[0]["problem"], problem);
    assert_eq!(found[1]["problem"], json!(null));
}
