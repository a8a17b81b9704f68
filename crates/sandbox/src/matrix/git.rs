//! Attempts 99 to 108: leaving something in the workspace, the home folder or the environment that others run later,
//! outside.

use std::fs;
use std::io;
use std::path::Path;

use super::attempt::expected::{HARMLESS, REFUSED, REFUSED_OR_UNDONE, UNDONE};
use super::attempt::{Attempt, Preparation as _, Reach, Tried, refused, row};
use super::files::append;
use super::inside::Inside;

use Reach::{Anyone, Nobody};

/// A script that would run the next time that its owner is used.
const SCRIPT: &str = "#!/bin/sh\necho attempt\n";

pub(super) const ATTEMPTS: &[Attempt] = &[
    row("99", "file.protected", "leave a git hook", REFUSED_OR_UNDONE, Anyone, |inside| {
        Ok(fs::write(inside.workspace().join(".git/hooks/pre-commit"), SCRIPT)?)
    }),
    row("100", "file.protected", "change .git/config", REFUSED_OR_UNDONE, Anyone, |inside| {
        append(&inside.workspace().join(".git/config"))
    }),
    row("101", "file.protected", "rename over .git/config", REFUSED_OR_UNDONE, Anyone, |inside| {
        let new = inside.workspace().join(".git/config.new");
        fs::write(&new, "[core]\n\tfsmonitor = ./attempt\n").prepared("writing a file in .git")?;
        let renamed = fs::rename(&new, inside.workspace().join(".git/config"));
        let _ = fs::remove_file(new);
        Ok(renamed?)
    }),
    row("102", "file.protected", "move .git away", REFUSED_OR_UNDONE, Anyone, |inside| {
        Ok(fs::rename(inside.workspace().join(".git"), inside.workspace().join(".git-moved"))?)
    }),
    row("103", "file.protected.new", "redirect git by .git/commondir", UNDONE, Anyone, |inside| {
        Ok(fs::write(inside.workspace().join(".git/commondir"), "../elsewhere\n")?)
    }),
    row("104", "file.protected", "leave a hook in a nested repository", UNDONE, Anyone, |inside| {
        Ok(fs::write(inside.workspace().join("nested/.git/hooks/pre-commit"), SCRIPT)?)
    }),
    row("105", "file.protected", "change the folder of an agent", REFUSED_OR_UNDONE, Anyone, |inside| {
        Ok(fs::write(inside.workspace().join(".claude/settings.json"), "{\"hooks\":{}}")?)
    }),
    row("106", "file.protected.new", "make the folder of an agent", UNDONE, Anyone, |inside| {
        let folder = inside.workspace().join(".codex");
        fs::create_dir(&folder)?;
        Ok(fs::write(folder.join("config.toml"), "attempt = true\n")?)
    }),
    row("107", "file.write", "change a start file of the shell", REFUSED, Anyone, |inside| {
        append(&inside.home().join(".bashrc"))
    }),
    // A shell of its own is what every command has, so this gets through nowhere; the point is that it stays so.
    Attempt {
        shell: "export BASH_ENV=\"$PWD/108/start\" LD_PRELOAD_ATTEMPT=1; ",
        then: Some(left_for_the_next),
        ..row(
            "108",
            "command.environment",
            "leave variables for the next command",
            HARMLESS,
            Nobody,
            leave_start_file,
        )
    },
];

/// Writes what the shell of the next command would run if it had the variable.
fn leave_start_file(inside: &Inside) -> Tried {
    let mark = inside.scratch.join("mark");
    let text = format!("echo attempt > '{}'\n", mark.display());
    fs::write(inside.scratch.join("start"), text).prepared("writing a file in the workspace")?;
    match inside.environment.iter().any(|(name, _)| name == "BASH_ENV") {
        true => refused("the variables end with their shell"),
        false => refused("the variables do not even reach this command"),
    }
}

/// Looks whether the next command has got the variables, or has run the file.
fn left_for_the_next(inside: &Inside) -> Tried {
    let names = ["BASH_ENV", "LD_PRELOAD_ATTEMPT"];
    let has_variable = inside.environment.iter().any(|(name, _)| names.contains(&name.as_str()));
    match has_variable || exists(&inside.scratch.join("mark")).prepared("looking for a mark")? {
        true => Ok(()),
        false => refused("the next command has none of them"),
    }
}

fn exists(path: &Path) -> io::Result<bool> {
    path.try_exists()
}
