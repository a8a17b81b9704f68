//! Packages from git.

use std::fs;

use bowline_testkit::Workspace;
use serde_json::json;

use crate::{ADDRESS, git, launch, listed, run, settings, shared};

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

const SOURCE: &str = "git:example.com/me/tools";

/// Makes the working folder a repository with the work of a user, and returns its only commit.
fn with_work(workspace: &Workspace) -> String {
    let work = workspace.work();
    let remote = workspace.home().join("remote");
    fs::create_dir(&remote).unwrap();
    git(&remote, &["init", "--quiet", "--bare", "--initial-branch", "main"]);
    fs::write(work.join("work.txt"), "published\n").unwrap();
    git(&work, &["init", "--quiet", "--initial-branch", "main"]);
    git(&work, &["remote", "add", "origin", "../remote"]);
    git(&work, &["add", "--force", "."]);
    git(&work, &["commit", "--quiet", "--message", "published"]);
    git(&work, &["push", "--quiet", "--set-upstream", "origin", "main"]);
    git(&work, &["commit", "--quiet", "--allow-empty", "--message", "unpublished"]);
    fs::write(work.join("work.txt"), "not committed\n").unwrap();
    fs::read_to_string(work.join(".git/refs/heads/main")).unwrap()
}

#[track_caller]
fn assert_work_is_kept(workspace: &Workspace, commit: &str) {
    let work = workspace.work();
    assert_eq!(fs::read_to_string(work.join("work.txt")).unwrap(), "not committed\n");
    assert_eq!(fs::read_to_string(work.join(".git/refs/heads/main")).unwrap(), commit);
}

#[test]
fn repository_around_a_folder_that_is_no_clone_is_not_touched() {
    let workspace = with_repository()
        .file(".pi/settings.json", &json!({ "packages": [SOURCE] }).to_string())
        .file(".pi/git/example.com/me/tools/extensions/tool.ts", "// vendored\n");
    let commit = with_work(&workspace);
    for command in [&["update", "--approve"][..], &["install", "--local", "--approve", SOURCE]] {
        let refused = run(&workspace, command);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("is not a clone that bowline made"), "{refused:?}");
        assert_work_is_kept(&workspace, &commit);
    }
    let removed = run(&workspace, &["remove", "--local", "--approve", SOURCE]);
    assert!(removed.stderr.contains("is left there"), "{removed:?}");
    let vendored = workspace.work().join(".pi/git/example.com/me/tools/extensions/tool.ts");
    assert_eq!(fs::read_to_string(vendored).unwrap(), "// vendored\n");
    assert_eq!(settings(&workspace.work().join(".pi")), json!({ "packages": [] }));
}

#[test]
fn repository_that_variables_name_is_not_touched() {
    let workspace = with_repository();
    let commit = with_work(&workspace);
    let of_hook = |arguments: &[&str]| {
        let launched = launch(&workspace).arguments(arguments);
        let launched = launched.environment("GIT_DIR", &workspace.work().join(".git").to_string_lossy());
        launched.environment("GIT_WORK_TREE", &workspace.work().to_string_lossy()).run()
    };
    of_hook(&["install", SOURCE]).succeeded();
    assert_work_is_kept(&workspace, &commit);
    change(&workspace);
    of_hook(&["update"]).succeeded();
    assert_work_is_kept(&workspace, &commit);
    let clone = shared(&workspace).join("git/example.com/me/tools");
    assert_eq!(fs::read_to_string(clone.join("extensions/tool.ts")).unwrap(), "// two\n");
}

#[test]
fn clone_of_another_repository_is_not_updated() {
    let workspace = with_repository();
    run(&workspace, &["install", SOURCE]).succeeded();
    let clone = shared(&workspace).join("git/example.com/me/tools");
    git(&clone, &["config", "remote.origin.url", "https://me:secret@example.com/other/tools"]);
    fs::write(clone.join("extensions/tool.ts"), "// mine\n").unwrap();
    change(&workspace);
    let refused = run(&workspace, &["update"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let reason =
        "is a clone of \"https://example.com/other/tools\" and not of \"https://example.com/me/tools\"";
    assert!(refused.stderr.contains(reason), "{refused:?}");
    assert_eq!(fs::read_to_string(clone.join("extensions/tool.ts")).unwrap(), "// mine\n");
}

#[test]
#[cfg(unix)]
fn clones_behind_links_are_neither_updated_nor_removed() {
    let workspace = with_repository();
    run(&workspace, &["install", SOURCE]).succeeded();
    let owner = shared(&workspace).join("git/example.com/me");
    let elsewhere = workspace.home().join("elsewhere");
    fs::rename(&owner, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &owner).unwrap();
    let tool = elsewhere.join("tools/extensions/tool.ts");
    fs::write(&tool, "// mine\n").unwrap();
    change(&workspace);
    assert_eq!(run(&workspace, &["update"]).code, 1);
    run(&workspace, &["remove", SOURCE]).succeeded();
    assert_eq!(fs::read_to_string(&tool).unwrap(), "// mine\n");
}

#[test]
fn empty_folder_is_replaced_by_a_clone() {
    let workspace = with_repository();
    let clone = shared(&workspace).join("git/example.com/me/tools");
    fs::create_dir_all(&clone).unwrap();
    run(&workspace, &["install", SOURCE]).succeeded();
    assert!(clone.join("extensions/tool.ts").is_file());
}

#[test]
fn packages_inside_of_others_are_neither_made_nor_removed_with_them() {
    let workspace = with_repository();
    run(&workspace, &["install", SOURCE]).succeeded();
    let refused = run(&workspace, &["install", "git:example.com/me/tools/more"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("would be inside of another package"), "{refused:?}");

    // pi makes them.
    let clone = shared(&workspace).join("git/example.com/me/tools");
    let inner = clone.join("more/extensions");
    fs::create_dir_all(&inner).unwrap();
    let packages = json!({ "packages": [SOURCE, "git:example.com/me/tools/more"] });
    let workspace = workspace.home_file(".pi/agent/settings.json", &packages.to_string());
    let refused = run(&workspace, &["remove", SOURCE]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("has another one in it"), "{refused:?}");
    assert!(inner.is_dir());
    assert_eq!(settings(&shared(&workspace)), packages);
}
