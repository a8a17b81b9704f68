//! The reference and the schemas in the repository are what the program says today. `BOWLINE_UPDATE=1` (`./test update`)
//! writes them anew.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what helps a test fails it by panicking")]
#![expect(clippy::needless_pass_by_value, reason = "values are written in place with `json!`")]

mod page;
mod play;
mod plays;

use std::path::{Path, PathBuf};
use std::process::Command;

use page::Page;

/// Checks that a file of the repository holds a text, or writes it.
#[expect(clippy::disallowed_methods, reason = "the switch that rewrites the files instead of checking them")]
#[track_caller]
fn check(path: &str, text: &str) {
    let file: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("BOWLINE_UPDATE").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        return;
    }
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    if known == text {
        return;
    }
    let differs = known.lines().zip(text.lines()).position(|(known, now)| known != now);
    let line = differs.unwrap_or_else(|| known.lines().count().min(text.lines().count()));
    let show = |text: &str| text.lines().nth(line).unwrap_or("(nothing)").to_owned();
    panic!(
        "{path} is not what the program says today; if that is as it should be: ./test update\n\
         line {}:\n  in the file: {}\n  today:       {}",
        line + 1,
        show(&known),
        show(text)
    );
}

#[test]
fn the_schemas_are_those_of_the_program() {
    for entry in bowline_dialect::DIALECTS {
        let output = Command::new(env!("CARGO_BIN_EXE_bowline"))
            .args(["schema", "--dialect", entry.name])
            .output()
            .unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        check(&format!("schema/{}.json", entry.name), &String::from_utf8(output.stdout).unwrap());
    }
}

#[test]
fn a_schema_that_there_is_not_is_told_on_stderr_alone() {
    for (arguments, problem) in [
        (&["schema", "omp"][..], "what is \"omp\"?"),
        (&["schema", "--dialect", "klingon"], "no dialect \"klingon\""),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_bowline")).args(arguments).output().unwrap();
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), &b""[..]), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(problem), "{output:?}");
    }
}

#[track_caller]
fn check_page(dialect: &'static str, guide: &'static str, play: &play::Play) {
    check(&format!("docs/protocol/{dialect}.md"), &Page { dialect, guide, play }.render());
}

#[test]
fn the_reference_of_pi_is_what_the_program_says() {
    check_page("pi", "protocol.md", &plays::pi());
}

#[test]
fn the_reference_of_pi_classic_is_what_the_program_says() {
    check_page("pi-classic", "protocol-pi-classic.md", &plays::pi_classic());
}

#[test]
fn the_reference_of_omp_is_what_the_program_says() {
    check_page("omp", "protocol-omp.md", &plays::omp());
}

#[test]
fn the_reference_of_opi_is_what_the_program_says() {
    check_page("opi", "protocol-opi.md", &plays::opi());
}

#[test]
fn the_reference_of_operator_is_what_the_program_says() {
    check_page("operator", "protocol-operator.md", &plays::operator("operator"));
}

#[test]
fn the_reference_of_operator_flat_is_what_the_program_says() {
    check_page("operator-flat", "protocol-operator.md", &plays::operator("operator-flat"));
}
