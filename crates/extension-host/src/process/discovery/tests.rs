//! Which extensions are found, in which order.

use std::fs;

use tempfile::TempDir;

use super::*;

struct World {
    folder: TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("own")).unwrap();
        fs::create_dir_all(folder.path().join("project")).unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self { folder }
    }

    fn places(&self) -> Places {
        Places { own_folder: self.folder.path().join("own"), ..Places::default() }
    }

    /// Returns the paths that are loaded, and those that are not with the reason.
    fn discover(&self, places: &Places, trusts_project: bool) -> Vec<String> {
        let found = places.discover(&self.folder.path().join("project"), trusts_project);
        let shown = found.iter().map(|found| {
            let path = found.path.strip_prefix(self.folder.path()).unwrap_or(&found.path).display();
            match &found.launch {
                Ok(launch) => {
                    let kind = if launch.program.is_module() { " module" } else { "" };
                    format!("{path}{kind} {} {}", found.source.source, found.source.scope.as_str())
                }
                Err(reason) => format!("{path}: {}", reason.reason()),
            }
        });
        shown.collect()
    }
}

#[test]
fn order_is_command_line_then_project_then_user_and_settings_before_folders() {
    let world = World::new(&[
        ("named.py", ""),
        ("project/.bowline/settings.json", r#"{"extensions": ["listed.py"]}"#),
        ("project/.bowline/listed.py", ""),
        ("project/.bowline/extensions/b.sh", ""),
        ("project/.bowline/extensions/a.py", ""),
        ("own/listed.py", ""),
        ("own/extensions/x/extension.json", r#"{"name": "x", "command": ["true"]}"#),
    ]);
    let places = Places {
        named: vec![Named::Path(world.folder.path().join("named.py"))],
        settings: vec!["listed.py".to_owned()],
        ..world.places()
    };
    assert_eq!(
        world.discover(&places, true),
        [
            "named.py cli temporary",
            "project/.bowline/listed.py local project",
            "project/.bowline/extensions/a.py auto project",
            "project/.bowline/extensions/b.sh auto project",
            "own/listed.py local user",
            "own/extensions/x auto user",
        ]
    );
    let only_named = Places { only_named: true, ..places.clone() };
    assert_eq!(world.discover(&only_named, true), ["named.py cli temporary"]);
    let untrusted = world.discover(&places, false);
    assert_eq!(
        untrusted[1..3],
        [
            "project/.bowline/extensions/a.py: the project is not trusted",
            "project/.bowline/extensions/b.sh: the project is not trusted",
        ]
    );
}

#[test]
fn what_is_no_extension_is_passed_over_in_folders_and_an_error_by_name() {
    let world = World::new(&[
        ("own/extensions/notes.md", ""),
        ("own/extensions/.hidden.py", ""),
        ("own/extensions/_shared.py", ""),
        ("own/extensions/bowline_extension.py", ""),
        ("own/extensions/empty/notes.md", ""),
        ("own/extensions/wrong/extension.json", "{}"),
        ("own/extensions/of_pi.ts", "export default function (pi) {}\n"),
        ("own/extensions/package/package.json", r#"{"pi": {"extensions": ["a.ts"]}}"#),
        ("project/.pi/extensions/other.ts", "const x = 1;\nexport default x;\n"),
    ]);
    let own = world.folder.path().join("own/extensions");
    let named = ["notes.md", "empty", "gone.py"].map(|name| Named::Path(own.join(name)));
    let places = Places { named: named.into(), ..world.places() };
    let found = world.discover(&places, true);
    let starts = [
        "own/extensions/notes.md: ",
        "own/extensions/empty: ",
        "own/extensions/gone.py: ",
        "project/.pi/extensions/other.ts module auto project",
        "own/extensions/of_pi.ts module auto user",
        "own/extensions/package: package.json names extensions that do not exist",
        "own/extensions/wrong: ",
    ];
    assert_eq!(found.len(), starts.len(), "{found:#?}");
    for (found, start) in found.iter().zip(starts) {
        assert!(found.starts_with(start), "{found} does not start with {start}");
    }
}

#[test]
fn same_file_is_loaded_once_and_settings_leave_out_what_they_name() {
    let world = World::new(&[
        ("own/extensions/a.py", ""),
        ("own/extensions/b.py", ""),
        ("own/extensions/c-old.py", ""),
    ]);
    let settings = ["extensions/a.py", "-extensions/b.py", "!*-old.*"].map(ToOwned::to_owned);
    let places = Places { settings: settings.into(), ..world.places() };
    assert_eq!(world.discover(&places, true), ["own/extensions/a.py local user"]);
}

#[test]
fn places_without_extensions_are_known_without_looking_into_folders() {
    let world = World::new(&[]);
    let directory = world.folder.path().join("project");
    assert!(!world.places().may_have_any(&directory));
    fs::create_dir(world.folder.path().join("own/extensions")).unwrap();
    assert!(world.places().may_have_any(&directory));
    assert!(!Places { only_named: true, ..world.places() }.may_have_any(&directory));
}

#[test]
fn pi_finds_the_same_modules_in_its_folders() {
    let world = World::new(&[
        ("project/.pi/settings.json", r#"{"extensions": ["listed"], "packages": ["../packed"]}"#),
        ("project/.pi/listed/a.ts", ""),
        ("project/.pi/listed/helper.py", ""),
        ("project/.pi/extensions/b.js", "module.exports = 1;"),
        ("project/.pi/extensions/c/index.ts", ""),
        (
            "project/.pi/extensions/d/package.json",
            r#"{"name": "dee", "pi": {"extensions": ["x.ts", "y.ts"]}}"#,
        ),
        ("project/.pi/extensions/d/x.ts", ""),
        ("project/.pi/extensions/d/y.ts", ""),
        ("project/.pi/extensions/helper.sh", ""),
        ("project/.pi/extensions/ours/extension.json", r#"{"name": "ours", "command": ["true"]}"#),
        ("project/.pi/extensions/ours/index.ts", ""),
        (
            "project/packed/package.json",
            r#"{"name": "@me/packed", "version": "1.2.3", "pi": {"extensions": ["z.ts"]}}"#,
        ),
        ("project/packed/z.ts", ""),
        ("agent/extensions/e.ts", ""),
        ("agent/extensions/old.ts", ""),
        ("agent/extensions/tool.py", ""),
        ("own/extensions/program.ts", "console.log(1);"),
        ("own/extensions/module.ts", "export default function () {}"),
    ]);
    let pi = PiFolder {
        folder: world.folder.path().join("agent"),
        settings: vec!["-extensions/old.ts".to_owned()],
        problems: Vec::new(),
    };
    let places = Places { pi: Some(pi), ..world.places() };
    assert_eq!(
        world.discover(&places, true),
        [
            "project/.pi/listed/a.ts module local project",
            "project/.pi/extensions/ours auto project",
            "project/.pi/extensions/b.js module auto project",
            "project/.pi/extensions/c/index.ts module auto project",
            "project/.pi/extensions/d/x.ts module auto project",
            "project/.pi/extensions/d/y.ts module auto project",
            "own/extensions/module.ts module auto user",
            "own/extensions/program.ts auto user",
            "agent/extensions/e.ts module auto user",
            "project/packed/z.ts module ../packed project",
        ]
    );
    let found = places.discover(&world.folder.path().join("project"), true);
    let names: Vec<_> = found.iter().map(|found| found.name.as_str()).collect();
    assert_eq!(
        names,
        ["a", "ours", "b", "c", "dee/x", "dee/y", "module", "program", "e", "@me/packed"],
        "several extensions of a folder are told apart"
    );
    let packed = found.last().unwrap();
    assert_eq!(packed.version.as_deref(), Some("1.2.3"));
    assert_eq!(packed.source.packaging, bowline_core::slash_command::Packaging::Package);
    assert_eq!(packed.source.base_folder, Some(world.folder.path().join("project/packed")));
    assert_eq!(
        world.discover(&places, false)[..2],
        [
            "project/.pi/extensions/ours: the project is not trusted",
            "project/.pi/extensions/b.js: the project is not trusted"
        ]
    );
    let listed = world.discover(&places, false);
    assert!(listed.iter().all(|found| !found.contains("packed")), "settings are not read: {listed:?}");
}

#[test]
fn package_that_is_not_installed_is_listed_with_the_command() {
    let world = World::new(&[]);
    let place = Place { folder: world.folder.path().join("own"), scope: Scope::User };
    let settings = serde_json::json!({ "packages": ["npm:gone@1.0.0"] });
    let packages = Configured::list(&settings, &place, &mut Vec::new());
    let places = Places { packages, ..world.places() };
    assert!(places.may_have_any(&world.folder.path().join("project")));
    assert_eq!(
        world.discover(&places, true),
        ["npm:gone@1.0.0: it is not installed; to install it, run: bowline install npm:gone@1.0.0"]
    );
}

#[test]
fn named_package_has_the_extensions_of_its_manifest_or_of_its_folders() {
    let world = World::new(&[
        ("by_manifest/package.json", r#"{"pi": {"extensions": ["x.ts"]}}"#),
        ("by_manifest/x.ts", ""),
        ("by_manifest/extensions/not.ts", ""),
        ("by_folders/extensions/y.ts", ""),
        ("only_skills/skills/s/SKILL.md", ""),
        ("of_scripts/a.py", ""),
    ]);
    let named = ["by_manifest", "by_folders", "only_skills", "of_scripts"];
    let named = named.map(|name| Named::Path(world.folder.path().join(name)));
    let places = Places { named: named.into(), ..world.places() };
    assert_eq!(
        world.discover(&places, true),
        [
            "by_manifest/x.ts module cli temporary",
            "by_folders/extensions/y.ts module cli temporary",
            "of_scripts/a.py cli temporary",
        ]
    );
}
