//! This program, and what the names `bowline`, `pi`, `omp` and `opi` stand for in `PATH`.

use std::path::{Path, PathBuf};

use bowline_dialect::PROGRAMS;

use crate::doctor::facts::Facts;
use crate::doctor::finding::Finding;
use crate::environment;

pub(in crate::doctor) fn check(facts: &Facts) -> Vec<Finding> {
    let version = env!("CARGO_PKG_VERSION");
    let system = format!("{} on {}", std::env::consts::ARCH, std::env::consts::OS);
    let own = environment::program().and_then(|path| path.canonicalize());
    let Ok(own) = own else {
        return vec![
            Finding::look(format!("bowline {version}, {system}; the file of the program is gone"))
                .because("It was replaced or removed while this process ran. Tools cannot be confined then."),
        ];
    };
    let mut findings = vec![Finding::fine(format!("bowline {version}, {system}: {}", facts.shown(&own)))];
    let path = facts.environment.variable("PATH").unwrap_or_default();
    match first_in(path, "bowline") {
        None => findings.push(
            Finding::look("bowline is not in PATH")
                .because("Clients that start it by its name do not find it.")
                .remedy(format!("export PATH=\"{}:$PATH\"", folder_of(&own).display())),
        ),
        Some(found) if is_same(&found, &own) => {}
        Some(found) => findings.push(
            Finding::look(format!("bowline in PATH is another one: {}", facts.shown(&found)))
                .because("Clients that start it by its name get that one."),
        ),
    }
    for program in PROGRAMS {
        if let Some(found) = first_in(path, program.name) {
            let (name, found_at) = (program.name, facts.shown(&found));
            findings.push(Finding::fine(match is_same(&found, &own) {
                true => format!("{name} in PATH is bowline, in the dialect {}: {found_at}", program.dialect),
                false => format!("{name} in PATH is another program: {found_at}"),
            }));
        }
    }
    findings
}

/// Returns the first file of a name in the folders of `PATH`.
pub(super) fn first_in(path: &str, name: &str) -> Option<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    folders.map(|folder| folder.join(&file)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.is_file() && bowline_files::mode(path).is_none_or(|mode| mode & 0o111 != 0)
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| one == other)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}
