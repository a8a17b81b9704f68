//! Completion in bash with the script that `bowline completions bash` prints, and the manual pages. `./test install` tries all
//! three shells as somebody who types.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use bowline_testkit::{Launch, Workspace, bowline};

/// Sets the variables as bash does, runs the function and prints what it offers.
const DRIVER: &str = r#"
set -u
source <(bowline completions bash)
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_bowline
printf '%s\n' "${COMPREPLY[@]-}"
"#;

/// Returns what bash offers for the last of these words, which are split as bash splits them.
#[track_caller]
fn completed(workspace: &Workspace, words: &[&str]) -> Vec<String> {
    let programs = workspace.home().join("programs");
    if !programs.exists() {
        fs::create_dir(&programs).unwrap();
        symlink(bowline(), programs.join("bowline")).unwrap();
    }
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display());
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", DRIVER, "bash"]).args(words).current_dir(workspace.work());
    bash.env_clear().env("PATH", path).env("HOME", workspace.home());
    let output = bash.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect()
}

#[test]
fn bash_completes_what_bowline_says() {
    let workspace = Workspace::empty();
    for (words, expected) in [
        (&["bowline", "sess"][..], &["sessions"][..]),
        (&["bowline", "auth", "lo"], &["login"]),
        (&["bowline", "--thinking", "me"], &["medium"]),
        // bash takes a word apart at = and :, and completes what comes after.
        (&["bowline", "--thinking", "=", "me"], &["medium"]),
        (&["bowline", "--thinking", "="], &["off", "minimal", "low", "medium", "high", "xhigh", "max"]),
        (&["bowline", "--model", "scripted/d"], &["scripted/demo"]),
        (&["bowline", "--model", "scripted/demo", ":", "mi"], &["minimal"]),
        (&["bowline", "--model", "=", "scripted/demo", ":", "mi"], &["minimal"]),
        (&["bowline", "--sandbox", "work"], &["workspace-write"]),
        (&["bowline", "-p", "sess"], &[]),
        (&["bowline", "export", ""], &[]),
    ] {
        assert_eq!(completed(&workspace, words), expected, "{words:?}");
    }
}

#[test]
fn sessions_are_offered_by_id_and_nothing_that_a_shell_would_run() {
    let workspace = Workspace::empty();
    let finished =
        Launch::bowline(&workspace).arguments(&["-p", "$(touch ran)", "--model", "scripted/demo"]).run();
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let folder = workspace.work().join("flat");
    fs::create_dir(&folder).unwrap();
    for file in workspace.session_files() {
        fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
    }
    let offered = completed(&workspace, &["bowline", "--session-dir", "flat", "--session", ""]);
    assert_eq!(offered.len(), 1, "{offered:?}");
    assert!(offered[0].chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-'), "{offered:?}");
    assert!(!workspace.work().join("ran").exists());
}

#[test]
fn a_program_of_the_folder_is_never_started() {
    let workspace = Workspace::empty().file("bowline", "#!/bin/sh\ntouch started\necho none\necho owned\n");
    let program = workspace.work().join("bowline");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, mode).unwrap();
    assert_eq!(completed(&workspace, &["./bowline", "sess"]), ["sessions"]);
    assert!(!workspace.work().join("started").exists());
}

#[test]
fn manual_pages_are_written_below_a_folder() {
    let workspace = Workspace::empty();
    let finished = Launch::bowline(&workspace).arguments(&["man", "--out", "manual"]).run();
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    for path in finished.stdout.lines() {
        assert!(fs::read_to_string(path).unwrap().starts_with(".TH "), "{path}");
    }
    let printed = Launch::bowline(&workspace).arguments(&["man"]).run();
    assert_eq!(fs::read_to_string(workspace.work().join("manual/man1/bowline.1")).unwrap(), printed.stdout);
    for words in [&["man", "nothing"][..], &["man", "auth", "mcp"], &["completions", "csh"], &["completions"]]
    {
        let refused = Launch::bowline(&workspace).arguments(words).run();
        assert!(refused.code != 0 && refused.stdout.is_empty() && !refused.stderr.is_empty(), "{words:?}");
    }
}
