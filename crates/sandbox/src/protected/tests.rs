use std::os::unix::fs::symlink;

use bowline_core::sandbox::{SandboxMode, SandboxNetwork};

use super::*;

struct World {
    _folder: tempfile::TempDir,
    root: PathBuf,
    own: PathBuf,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (root, own) = (base.join("project"), base.join("own"));
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir(&own).unwrap();
        let world = Self { _folder: folder, root, own };
        for (name, text) in files {
            world.write(name, text);
        }
        world
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root.join(name)).unwrap()
    }

    fn note(&self) -> Protected {
        let plan = Plan {
            mode: SandboxMode::WorkspaceWrite,
            network: SandboxNetwork::None,
            working_directory: self.root.clone(),
            roots: vec![self.root.clone()],
            writable: vec![self.root.clone()],
            granted: Vec::new(),
            read_only_inside: Vec::new(),
            git_folders: GitFolders::find(&self.root),
            masked: Vec::new(),
            absent: Vec::new(),
            unmasked: Vec::new(),
            home: None,
            home_store: None,
            workspace_store: None,
            visible: Vec::new(),
        };
        Protected::note(&plan, SandboxLevel::Landlock, &self.own).unwrap()
    }
}

fn changes(protected: &mut Protected) -> Vec<(String, String)> {
    let changes = protected.put_back().into_iter();
    changes
        .map(|change| (change.path.file_name().unwrap().to_string_lossy().into_owned(), change.change))
        .collect()
}

#[test]
fn new_changed_and_removed_paths_are_put_back_and_kept_in_quarantine() {
    let world =
        World::new(&[(".git/config", "old"), (".git/hooks/pre-push", "mine"), (".vscode/a.json", "1")]);
    let mut protected = world.note();
    assert!(!protected.is_changed());
    world.write(".envrc", "evil");
    world.write(".git/config", "new");
    world.write(".vscode/b.json", "2");
    world.write(".git/commondir", "/elsewhere");
    fs::remove_dir_all(world.root.join(".git/hooks")).unwrap();
    world.write("src/ordinary", "kept");
    assert!(protected.is_changed());
    let mut found = changes(&mut protected);
    found.sort();
    let expected = [
        (".envrc", "created"),
        (".vscode", "changed"),
        ("commondir", "created"),
        ("config", "changed"),
        ("hooks", "removed"),
    ];
    assert_eq!(found, expected.map(|(name, change)| (name.to_owned(), change.to_owned())));
    assert_eq!(
        (world.read(".git/config"), world.read(".git/hooks/pre-push")),
        ("old".to_owned(), "mine".to_owned())
    );
    assert!(!world.root.join(".envrc").exists() && !world.root.join(".vscode/b.json").exists());
    assert_eq!(
        (world.read(".vscode/a.json"), world.read("src/ordinary")),
        ("1".to_owned(), "kept".to_owned())
    );
    assert!(!protected.is_changed());
    let kept = fs::read_dir(world.own.join("quarantine"))
        .unwrap()
        .flatten()
        .flat_map(|entry| fs::read_dir(entry.path()).unwrap());
    let kept: Vec<_> = kept.flatten().map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert!(
        [".envrc", ".vscode", "config", "commondir"].iter().all(|name| kept.iter().any(|kept| kept == name)),
        "{kept:?}"
    );
}

#[test]
fn links_on_the_way_are_not_followed() {
    let world = World::new(&[("nested/.git/config", "old")]);
    let mut protected = world.note();
    let victim = world.own.join("victim");
    fs::create_dir_all(victim.join(".git/hooks")).unwrap();
    fs::write(victim.join(".git/config"), "of somebody else").unwrap();
    fs::rename(world.root.join("nested"), world.root.join("moved")).unwrap();
    symlink(&victim, world.root.join("nested")).unwrap();
    symlink(&victim, world.root.join(".claude")).unwrap();
    protected.put_back();
    assert_eq!(fs::read_to_string(victim.join(".git/config")).unwrap(), "of somebody else");
    assert!(victim.join(".git/hooks").is_dir());
    assert!(fs::symlink_metadata(world.root.join(".claude")).is_err());
}

#[test]
fn git_folder_that_was_moved_away_comes_back() {
    let world = World::new(&[(".git/config", "old"), (".git/HEAD", "ref")]);
    let mut protected = world.note();
    fs::rename(world.root.join(".git"), world.root.join("hidden")).unwrap();
    world.write(".git/config", "evil");
    protected.put_back();
    assert_eq!((world.read(".git/config"), world.read(".git/HEAD")), ("old".to_owned(), "ref".to_owned()));
    assert!(!world.root.join("hidden").exists());
}

#[test]
fn hooks_and_programs_of_repositories_that_calls_make_are_removed_but_not_samples() {
    let world = World::new(&[]);
    let mut protected = world.note();
    world.write("new/.git/hooks/pre-commit", "evil");
    world.write("new/.git/hooks/pre-commit.sample", "fine");
    world.write("new/.git/config", "[core]\n\tbare = false\n");
    assert!(!protected.is_changed());
    let found = protected.take_found(&world.root, GitFolders::find(&world.root));
    assert_eq!(found.len(), 1);
    assert!(!world.root.join("new/.git/hooks/pre-commit").exists());
    assert!(world.root.join("new/.git/hooks/pre-commit.sample").exists());
    assert_eq!(protected.take_found(&world.root, GitFolders::find(&world.root)), []);
    // What is added later goes as well.
    world.write("new/.git/hooks/post-merge", "evil");
    world.write("new/.git/config", "[core]\n\tfsmonitor = evil\n");
    assert_eq!(protected.take_found(&world.root, GitFolders::find(&world.root)).len(), 2);
    assert!(!world.root.join("new/.git/config").exists());
    world.write("other/.git", "gitdir: /elsewhere");
    assert_eq!(protected.take_found(&world.root, GitFolders::find(&world.root)).len(), 1);
    assert!(!world.root.join("other/.git").exists());
    world.write("new/.git/commondir", "/elsewhere");
    assert!(protected.is_changed());
}

#[test]
fn moved_git_folder_is_found_only_without_links_on_the_way() {
    let world = World::new(&[(".git/HEAD", "ref"), ("place/file", "")]);
    let mut protected = world.note();
    let git = world.root.join(".git");
    let (root, opened) = (protected.base(&world.root).unwrap(), protected.base(&git).unwrap());
    let pinned = Pinned::new((&git, opened), (&world.root, root));
    assert!(!pinned.is_moved());
    fs::rename(world.root.join(".git"), world.root.join("place/hidden")).unwrap();
    symlink(world.root.join("place"), world.root.join("link")).unwrap();
    assert!(pinned.is_moved());
    assert!(pinned.at(&world.root.join("place/hidden")).is_some());
    assert!(pinned.at(&world.root.join("link/hidden")).is_none());
    assert!(pinned.at(&world.root.join("place")).is_none());
    assert!(pinned.at(&world.own.join("hidden")).is_none());
}

#[test]
fn what_does_not_fit_into_quarantine_stays_whole_under_another_name() {
    let world = World::new(&[]);
    let mut protected = world.note();
    // As on a full disk.
    fs::write(world.own.join("quarantine"), "").unwrap();
    for number in 0..2_100 {
        world.write(&format!(".idea/{number}"), "mine");
    }
    assert_eq!(changes(&mut protected), [(".idea".to_owned(), "created".to_owned())]);
    assert!(fs::symlink_metadata(world.root.join(".idea")).is_err());
    let mut kept = fs::read_dir(&world.root).unwrap().flatten().map(|entry| entry.path());
    let kept = kept.find(|path| path.to_string_lossy().contains(".idea.quarantined-")).unwrap();
    assert_eq!(fs::read_dir(kept).unwrap().count(), 2_100);
    assert_eq!(protected.stuck(), None);
}

#[test]
fn folder_that_a_call_made_read_only_keeps_nothing_protected_in_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new(&[]);
    let mut protected = world.note();
    world.write(".claude/settings.json", "evil");
    fs::set_permissions(&world.root, fs::Permissions::from_mode(0o555)).unwrap();
    assert_eq!(changes(&mut protected), [(".claude".to_owned(), "created".to_owned())]);
    assert!(fs::symlink_metadata(world.root.join(".claude")).is_err());
    assert_eq!(fs::metadata(&world.root).unwrap().permissions().mode() & 0o777, 0o555);
}

#[test]
fn repository_is_protected_wherever_its_folder_is_moved() {
    let world = World::new(&[("sub/.git/HEAD", "ref"), ("sub/.git/config", "old")]);
    let mut protected = world.note();
    fs::rename(world.root.join("sub"), world.root.join("moved")).unwrap();
    symlink("moved", world.root.join("sub")).unwrap();
    world.write("moved/.git/config", "evil");
    world.write("moved/.git/hooks/pre-commit", "evil");
    assert!(protected.is_changed());
    protected.put_back();
    assert_eq!(world.read("moved/.git/config"), "old");
    assert!(!world.root.join("moved/.git/hooks").exists());
    // Hooks of the user are not taken for those of a new repository.
    assert_eq!(protected.take_found(&world.root, GitFolders::find(&world.root)), []);
}
