//! What is used of packages.

use std::fs;

use bowline_core::slash_command::Scope;
use serde_json::{Value, json};

use super::*;
use crate::packages::{Configured, Entry, Place, installed};

/// Packages in folders, and entries of a project and a user that name them.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self { folder }
    }

    fn entry(&self, place: &str, entry: &Value) -> Configured {
        let scope = if place == "user" { Scope::User } else { Scope::Project };
        let place = Place { folder: self.folder.path().join(place), scope };
        Configured { entry: Entry::read(entry).unwrap(), place }
    }

    #[track_caller]
    fn check(&self, entries: &[(&str, Value)], kind: Kind, expected: &[&str]) {
        let configured: Vec<_> = entries.iter().map(|(place, entry)| self.entry(place, entry)).collect();
        let packages = installed(&configured, None);
        let found: Vec<_> = files(&packages, kind)
            .into_iter()
            .map(|file| file.path.strip_prefix(self.folder.path()).unwrap().display().to_string())
            .collect();
        assert_eq!(found, expected);
    }
}

const MANIFEST: &str =
    r#"{"pi": {"extensions": ["a.ts", "more"], "skills": ["s/*", "!s/no"], "prompts": ["p"]}}"#;

fn with_manifest() -> World {
    World::new(&[
        ("user/p/package.json", MANIFEST),
        ("user/p/a.ts", ""),
        ("user/p/more/b.ts", ""),
        ("user/p/more/c.js", ""),
        ("user/p/s/yes/SKILL.md", ""),
        ("user/p/s/no/SKILL.md", ""),
        ("user/p/p/t.md", ""),
        ("user/p/p/deep/u.md", ""),
        ("user/p/skills/unnamed/SKILL.md", ""),
    ])
}

#[test]
fn manifest_says_what_a_package_has() {
    let world = with_manifest();
    let entry = [("user", json!("./p"))];
    world.check(&entry, Kind::Extension, &["user/p/a.ts", "user/p/more/b.ts", "user/p/more/c.js"]);
    world.check(&entry, Kind::Skill, &["user/p/s/yes/SKILL.md"]);
    world.check(&entry, Kind::PromptTemplate, &["user/p/p/deep/u.md", "user/p/p/t.md"]);
}

#[test]
fn without_a_manifest_folders_have_the_usual_names() {
    let world = World::new(&[
        ("user/p/extensions/a.ts", ""),
        ("user/p/extensions/b/index.ts", ""),
        ("user/p/extensions/b/other.ts", ""),
        ("user/p/skills/x/SKILL.md", ""),
        ("user/p/prompts/t.md", ""),
        ("user/p/index.ts", ""),
        ("user/single/index.ts", ""),
        ("user/npm/node_modules/library/index.js", ""),
        ("user/file.ts", ""),
    ]);
    let entry = [("user", json!("p"))];
    world.check(&entry, Kind::Extension, &["user/p/extensions/a.ts", "user/p/extensions/b/index.ts"]);
    world.check(&entry, Kind::Skill, &["user/p/skills/x/SKILL.md"]);
    world.check(&entry, Kind::PromptTemplate, &["user/p/prompts/t.md"]);
    world.check(&[("user", json!("single"))], Kind::Extension, &["user/single/index.ts"]);
    world.check(&[("user", json!("file.ts"))], Kind::Extension, &["user/file.ts"]);
    world.check(&[("user", json!("file.ts"))], Kind::Skill, &[]);
    world.check(&[("user", json!("npm:library"))], Kind::Extension, &[]);
}

#[test]
fn entry_that_is_an_object_selects() {
    let world = with_manifest();
    let check = |entry: Value, expected: &[&str]| {
        let mut object = json!({ "source": "p" });
        object.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
        world.check(&[("user", object)], Kind::Extension, expected);
    };
    let all = ["user/p/a.ts", "user/p/more/b.ts", "user/p/more/c.js"];
    check(json!({}), &all);
    check(json!({ "skills": [] }), &all);
    check(json!({ "extensions": [] }), &[]);
    check(json!({ "extensions": ["more/*", "!**/*.js"] }), &["user/p/more/b.ts"]);
    check(json!({ "extensions": ["-a.ts"] }), &all[1..]);
    check(json!({ "extensions": ["none", "+a.ts"] }), &all[..1]);
    world.check(&[("user", json!({ "source": "p", "skills": ["s/no"] }))], Kind::Skill, &[]);
}

#[test]
fn entry_of_the_project_replaces_that_of_the_user() {
    let world = with_manifest();
    let user = ("user", json!("./p"));
    let project = ("project", json!({ "source": "../user/p", "extensions": ["a.ts"] }));
    world.check(&[project, user], Kind::Extension, &["user/p/a.ts"]);
}

#[test]
fn entry_of_the_project_without_autoload_changes_that_of_the_user() {
    let world = with_manifest();
    let user = ("user", json!("./p"));
    let delta = json!({ "source": "../user/p", "autoload": false, "extensions": ["-a.ts", "+more/c.js"] });
    world.check(
        &[("project", delta.clone()), user],
        Kind::Extension,
        &["user/p/more/c.js", "user/p/more/b.ts"],
    );
    world.check(&[("project", delta.clone())], Kind::Extension, &["user/p/more/c.js"]);
    world.check(&[("project", delta)], Kind::Skill, &[]);
}

#[test]
#[cfg(unix)]
fn links_lead_nowhere_outside_of_the_package() {
    use std::os::unix::fs::symlink;
    for manifest in
        [r#"{"pi": {"extensions": ["extensions"], "skills": ["skills"], "prompts": ["prompts"]}}"#, "{}"]
    {
        let world = World::new(&[
            ("user/p/package.json", manifest),
            ("user/p/extensions/a.ts", ""),
            ("user/p/prompts/a.md", ""),
            ("user/outside/b.ts", ""),
            ("user/outside/b.md", ""),
            ("user/outside/s/SKILL.md", ""),
        ]);
        let (package, outside) =
            (world.folder.path().join("user/p"), world.folder.path().join("user/outside"));
        symlink(outside.join("b.ts"), package.join("extensions/b.ts")).unwrap();
        symlink(outside.join("b.md"), package.join("prompts/b.md")).unwrap();
        symlink("a.md", package.join("prompts/c.md")).unwrap();
        symlink(&outside, package.join("skills")).unwrap();
        for filter in [json!("./p"), json!({ "source": "./p", "prompts": ["**"] })] {
            let entries = [("user", filter)];
            world.check(&entries, Kind::Extension, &["user/p/extensions/a.ts"]);
            world.check(&entries, Kind::PromptTemplate, &["user/p/prompts/a.md", "user/p/prompts/c.md"]);
            world.check(&entries, Kind::Skill, &[]);
        }
    }
    // The package itself may be a link.
    let world = World::new(&[("real/package.json", MANIFEST), ("real/a.ts", ""), ("user/x", "")]);
    symlink(world.folder.path().join("real"), world.folder.path().join("user/p")).unwrap();
    world.check(&[("user", json!("./p"))], Kind::Extension, &["user/p/a.ts"]);
}
