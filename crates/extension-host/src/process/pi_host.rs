//! The process that pi's extensions share: its files, which the program contains, and how it is started.
//!
//! Pi's extensions are modules for one JavaScript runtime, which hold on to each other's objects, so one process serves all
//! of them. It is JavaScript in plain files, compressed in the program and written to a folder when they are needed.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::io;
use std::path::{Component, Path, PathBuf};

use bowline_engine::About;
use bowline_tools::ServiceLaunch;

use crate::process::plan::{PiHosting, Plan};

/// The files of the host: for each its name, a line feed, its length, a line feed and its content.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/pi_host.zlib"));

/// Differs if the files do.
const VERSION: &str = include_str!(concat!(env!("OUT_DIR"), "/pi_host.version"));

/// The file that is run.
const ENTRY: &str = "main.mjs";

/// The file that lists the others with their lengths.
const LISTING: &str = "files";

/// The permission bits with which others could change the files.
const WRITABLE_BY_OTHERS: u32 = 0o002;

/// The most that the files can be, which is far more than they are.
const LONGEST_PACKED: usize = 64 * 1024 * 1024;

/// The programs that can run it, in the order in which they are looked for.
const RUNTIMES: [&str; 2] = ["node", "bun"];

/// The oldest Node that runs it.
pub const OLDEST_NODE: (u32, u32) = (22, 15);

/// The variable that names a folder with other files of the host, for those who work on them.
const FOLDER_VARIABLE: &str = "BOWLINE_PI_HOST";

/// The variable with the folder that the host keeps transformed sources in.
const CACHE_VARIABLE: &str = "BOWLINE_PI_CACHE";

/// The variables by which a Node program tells another one of a channel between them. Empty ones name none.
const NODE_CHANNEL: [&str; 2] = ["NODE_CHANNEL_FD", "NODE_CHANNEL_SERIALIZATION_MODE"];

/// Returns how the process is started, once its files are there. Writes files, so it belongs on a thread that may block.
pub(crate) fn launch(plan: &Plan, about: &About) -> Result<ServiceLaunch, String> {
    let hosting = &plan.pi_host;
    let mut environment = plan.options.environment.kept(&hosting.variables);
    let path = (plan.variable)("PATH").unwrap_or_default();
    let program = runtime(hosting.runtime.as_deref(), &path)?;
    // Relative to the working directory it would be whatever the project has there.
    let other = (plan.variable)(FOLDER_VARIABLE).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let folder = match other {
        Some(folder) => folder,
        None => unpack(&hosting.cache).map_err(|error| {
            format!(
                "the files of the host for pi extensions cannot be written to {}: {error}",
                hosting.cache.display()
            )
        })?,
    };
    environment.push((CACHE_VARIABLE.to_owned(), hosting.cache.join("pi-extensions").display().to_string()));
    // Node would take a descriptor of its own for a channel to the program that has started bowline.
    let of_parent = NODE_CHANNEL.iter().filter(|name| (plan.variable)(name).is_some());
    environment.extend(of_parent.map(|name| ((*name).to_owned(), String::new())));
    // Extensions that start agents of their own start this program, with the same models and keys.
    if let Some(commands) = commands(hosting) {
        environment.push(("PATH".to_owned(), join_paths(&commands, &path)));
        environment.push(("BOWLINE_HOME".to_owned(), plan.places.own_folder.display().to_string()));
    }
    let mut arguments = vec![folder.join(ENTRY).display().to_string()];
    if !is_bun(&program) {
        // Removing types from sources is still announced as an experiment by some releases.
        arguments.insert(0, "--no-warnings".to_owned());
    }
    Ok(ServiceLaunch {
        program,
        arguments,
        environment,
        working_directory: about.directory.clone(),
        options: std::sync::Arc::clone(&plan.options),
    })
}

/// Returns the program that runs pi's extensions: the one that the user names, or the first in `PATH`.
pub fn runtime(named: Option<&str>, path: &str) -> Result<String, String> {
    let found = named.map(ToOwned::to_owned).or_else(|| find_runtime(path));
    found.ok_or_else(|| {
        let (major, minor) = OLDEST_NODE;
        format!(
            "pi extensions need Node {major}.{minor} or later, or Bun, and neither is in PATH. Install one of them, or \
             name it with: bowline config set nodePath /path/to/node"
        )
    })
}

fn is_bun(program: &str) -> bool {
    Path::new(program).file_stem().is_some_and(|name| name == "bun")
}

/// Returns the path of the runtime that is found first in the folders of `PATH`.
fn find_runtime(path: &str) -> Option<String> {
    let folders: Vec<_> = std::env::split_paths(path).filter(|folder| folder.is_absolute()).collect();
    RUNTIMES.iter().find_map(|name| {
        let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        let found = folders.iter().map(|folder| folder.join(&name)).find(|file| file.is_file())?;
        Some(found.display().to_string())
    })
}

/// Puts a folder before the others of `PATH`.
fn join_paths(first: &Path, path: &str) -> String {
    let folders = std::iter::once(first.to_owned()).chain(std::env::split_paths(path));
    std::env::join_paths(folders)
        .map_or_else(|_| path.to_owned(), |joined| joined.to_string_lossy().into_owned())
}

/// Returns a folder in which this program is called `pi`.
#[cfg(unix)]
fn commands(hosting: &PiHosting) -> Option<PathBuf> {
    let program = hosting.program.as_ref()?;
    let mut hasher = DefaultHasher::new();
    program.hash(&mut hasher);
    let folder = hosting.cache.join(format!("pi-command-{:016x}", hasher.finish()));
    let link = folder.join("pi");
    if fs::read_link(&link).is_ok_and(|target| target == *program) {
        return Some(folder);
    }
    bowline_files::create_private_folder(&folder).ok()?;
    // Whatever has the name, and another process may make it meanwhile: the link takes its place at once.
    let draft = folder.join(format!("pi.{}", std::process::id()));
    let _ = fs::remove_file(&draft);
    std::os::unix::fs::symlink(program, &draft).ok()?;
    fs::rename(&draft, &link).ok()?;
    Some(folder)
}

/// Links need a privilege there, so extensions find the real pi, if there is one.
#[cfg(not(unix))]
fn commands(_: &PiHosting) -> Option<PathBuf> {
    None
}

/// Writes the files below `cache` if they are not there yet, and returns their folder.
fn unpack(cache: &Path) -> io::Result<PathBuf> {
    let folder = cache.join(format!("pi-host-{VERSION}"));
    bowline_files::create_private_folder(cache)?;
    if bowline_files::mode(cache).is_some_and(|mode| mode & WRITABLE_BY_OTHERS != 0) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "other users may write to it"));
    }
    if is_complete(&folder) {
        return Ok(folder);
    }
    let invalid = |reason: &str| io::Error::new(io::ErrorKind::InvalidData, reason.to_owned());
    let packed = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(PACKED, LONGEST_PACKED)
        .map_err(|_| invalid("the packed files are damaged"))?;
    // The folder appears whole or not at all, whoever else writes it.
    let draft = cache.join(format!("pi-host-{VERSION}.{}", std::process::id()));
    let _ = fs::remove_dir_all(&draft);
    let mut listing = String::new();
    let mut rest = &*packed;
    while !rest.is_empty() {
        let (name, content, after) =
            next_file(rest).ok_or_else(|| invalid("the packed files are damaged"))?;
        let path = draft.join(name);
        if let Some(parent) = path.parent() {
            bowline_files::create_private_folder(parent)?;
        }
        fs::write(path, content)?;
        let _ = writeln!(listing, "{} {}", content.len(), name.display());
        rest = after;
    }
    fs::write(draft.join(LISTING), listing)?;
    // A damaged folder is in the way. Whoever has just repaired it loses nothing.
    let damaged = cache.join(format!("pi-host-{VERSION}.damaged.{}", std::process::id()));
    if !is_complete(&folder) && fs::rename(&folder, &damaged).is_ok() {
        let _ = fs::remove_dir_all(&damaged);
    }
    let renamed = fs::rename(&draft, &folder);
    if renamed.is_err() {
        let _ = fs::remove_dir_all(&draft);
    }
    if is_complete(&folder) {
        remove_others(cache, &folder);
        return Ok(folder);
    }
    Err(renamed.err().unwrap_or_else(|| invalid("the packed files have no entry")))
}

/// Tells whether every file is there with its length: a cleaner of old files, or a power failure, may have taken some.
fn is_complete(folder: &Path) -> bool {
    let Ok(listing) = fs::read_to_string(folder.join(LISTING)) else { return false };
    let is_there = |line: &str| {
        let (length, name) = line.split_once(' ')?;
        let metadata = fs::metadata(folder.join(name)).ok()?;
        (metadata.len() == length.parse::<u64>().ok()?).then_some(())
    };
    let lists_entry = listing.lines().any(|line| line.split_once(' ').is_some_and(|(_, name)| name == ENTRY));
    lists_entry && listing.lines().all(|line| is_there(line).is_some())
}

/// Returns the name and the content of the next file, and what comes after it.
fn next_file(packed: &[u8]) -> Option<(&Path, &[u8], &[u8])> {
    let (name, rest) = split_line(packed)?;
    let (length, rest) = split_line(rest)?;
    let (content, rest) = rest.split_at_checked(length.parse().ok()?)?;
    let name = Path::new(name);
    let is_plain = name.components().all(|part| matches!(part, Component::Normal(_)));
    is_plain.then_some((name, content, rest))
}

fn split_line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((std::str::from_utf8(bytes.get(..end)?).ok()?, bytes.get(end + 1..)?))
}

/// Removes the files of other versions that nobody has used for long: one of them may run now.
fn remove_others(cache: &Path, kept: &Path) {
    const UNUSED: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 60 * 60);
    let Ok(entries) = fs::read_dir(cache) else { return };
    for entry in entries.flatten() {
        let is_old = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        let is_of_host = entry.file_name().to_string_lossy().starts_with("pi-host-");
        if is_of_host && entry.path() != kept && is_old().is_some_and(|age| age > UNUSED) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_refuses_what_is_older() {
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../extensions/pi-host/loader/factory.mjs");
        let (major, minor) = OLDEST_NODE;
        let text = format!("need Node {major}.{minor} or later");
        assert!(fs::read_to_string(source).unwrap().contains(&text));
        assert!(runtime(None, "").unwrap_err().contains(&text));
        assert_eq!(runtime(Some("/opt/node"), "").unwrap(), "/opt/node");
    }

    #[test]
    fn files_are_written_once_and_are_those_of_the_project() {
        let cache = tempfile::tempdir().unwrap();
        let folder = unpack(cache.path()).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../extensions/pi-host");
        for name in [ENTRY, "bridge.mjs", "shims/names.json"] {
            assert_eq!(fs::read(folder.join(name)).unwrap(), fs::read(source.join(name)).unwrap(), "{name}");
        }
        let time = || fs::metadata(folder.join(ENTRY)).unwrap().modified().unwrap();
        let before = time();
        assert_eq!(unpack(cache.path()).unwrap(), folder);
        assert_eq!(time(), before);
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
    }

    #[test]
    fn damaged_files_are_written_again() {
        let cache = tempfile::tempdir().unwrap();
        let folder = unpack(cache.path()).unwrap();
        let content = fs::read(folder.join("bridge.mjs")).unwrap();
        let empty = |name: &str| fs::write(folder.join(name), "").unwrap();
        let damages: [&dyn Fn(); 5] = [
            &|| [ENTRY, LISTING, "bridge.mjs"].into_iter().for_each(empty),
            &|| fs::remove_file(folder.join(ENTRY)).unwrap(),
            &|| fs::remove_dir_all(folder.join("shims")).unwrap(),
            &|| fs::write(folder.join("bridge.mjs"), "").unwrap(),
            &|| fs::remove_file(folder.join(LISTING)).unwrap(),
        ];
        for damage in damages {
            damage();
            assert_eq!(unpack(cache.path()).unwrap(), folder);
            assert_eq!(fs::read(folder.join("bridge.mjs")).unwrap(), content);
            assert!(is_complete(&folder));
            assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
        }
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_run_from_a_folder_that_others_may_write_to() {
        use std::os::unix::fs::PermissionsExt as _;

        let cache = tempfile::tempdir().unwrap();
        fs::set_permissions(cache.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(unpack(cache.path()).unwrap_err().to_string(), "other users may write to it");
    }

    #[test]
    fn half_written_files_are_replaced() {
        let cache = tempfile::tempdir().unwrap();
        let folder = unpack(cache.path()).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let draft = cache.path().join(format!("pi-host-{VERSION}.{}", std::process::id()));
        fs::create_dir(&draft).unwrap();
        fs::write(draft.join("stale"), "").unwrap();
        assert_eq!(unpack(cache.path()).unwrap(), folder);
        assert!(!folder.join("stale").exists());
    }

    #[test]
    fn first_runtime_in_the_path_is_used_and_node_before_bun() {
        let place = tempfile::tempdir().unwrap();
        let folder = |name: &str, files: &[&str]| {
            let folder = place.path().join(name);
            fs::create_dir(&folder).unwrap();
            for file in files {
                fs::write(folder.join(format!("{file}{}", std::env::consts::EXE_SUFFIX)), "").unwrap();
            }
            folder
        };
        let (a, b, c) = (folder("a", &["bun"]), folder("b", &["node"]), folder("c", &["node"]));
        let path = |folders: &[&PathBuf]| std::env::join_paths(folders).unwrap().into_string().unwrap();
        let found = |folders: &[&PathBuf]| {
            find_runtime(&path(folders)).map(|found| PathBuf::from(found).parent().unwrap().to_owned())
        };
        assert_eq!(found(&[&a, &b, &c]), Some(b));
        assert_eq!(found(&[&a]), Some(a));
        assert_eq!(found(&[]), None);
        assert_eq!(find_runtime("relative:"), None);
    }
}
