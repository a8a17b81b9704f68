//! The reference and the schemas in the repository match the program. `BOWLINE_UPDATE=1` (`./test update`) regenerates
//! them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test support fails a test by panicking")]
#![expect(clippy::needless_pass_by_value, reason = "callers pass `json!` values")]

mod acp_page;
mod book;
mod extension_page;
mod page;
mod recorder;
mod scenarios;
mod tables;

use std::path::{Path, PathBuf};
use std::process::Command;

use bowline_testkit::Protocol;
use page::Page;
use serde_json::Value;

#[expect(clippy::disallowed_methods, reason = "the switch that rewrites the files instead of checking them")]
fn is_updating() -> bool {
    std::env::var_os("BOWLINE_UPDATE").is_some()
}

/// Checks that a file of the repository has this text, or updates the file.
#[track_caller]
fn check(path: &str, text: &str) {
    let file: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if is_updating() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        return;
    }
    let current = std::fs::read_to_string(&file).unwrap_or_default();
    if current == text {
        return;
    }
    let differs = current.lines().zip(text.lines()).position(|(current, updated)| current != updated);
    let line = differs.unwrap_or_else(|| current.lines().count().min(text.lines().count()));
    let show = |text: &str| text.lines().nth(line).unwrap_or("(nothing)").to_owned();
    panic!(
        "{path} is out of date; if the change is intended, run ./test update\n\
         line {}:\n  file:    {}\n  program: {}",
        line + 1,
        show(&current),
        show(text)
    );
}

#[test]
fn schemas_match_the_program() {
    for entry in bowline_dialect::DIALECTS {
        check_schema(entry.name, &entry.generated_schema().unwrap(), &["schema", "--dialect", entry.name]);
    }
}

#[test]
fn schema_of_extensions_matches_the_program() {
    check_schema("extension", &bowline_extension_host::protocol::schema(), &["schema", "extension"]);
}

/// Checks that a schema is that of the types and the tables, and that the program prints it.
#[track_caller]
fn check_schema(name: &str, schema: &Value, arguments: &[&str]) {
    let text = format!("{schema:#}\n");
    check(&format!("schema/{name}.json"), &text);
    // The program was built with the files that are being updated.
    if is_updating() {
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_bowline")).args(arguments).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert!(output.stdout == text.as_bytes(), "{arguments:?} does not print schema/{name}.json");
}

#[test]
fn reference_of_extensions_matches_the_program() {
    check(
        "docs/protocol/extension.md",
        &extension_page::render(&Protocol::of_schema(bowline_extension_host::protocol::schema())),
    );
}

#[test]
fn reference_of_acp_matches_the_program() {
    check("docs/protocol/acp.md", &acp_page::render(&Protocol::of("acp")));
}

#[test]
fn unknown_dialect_fails_on_stderr_only() {
    for (arguments, problem) in [
        (&["schema", "omp"][..], "what is \"omp\"?"),
        (&["schema", "--dialect", "klingon"], "unknown dialect \"klingon\""),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_bowline")).args(arguments).output().unwrap();
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), &b""[..]), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(problem), "{output:?}");
    }
}

#[track_caller]
fn check_page(dialect: &'static str, guide: &'static str, recorder: &recorder::Recorder) {
    check(&format!("docs/protocol/{dialect}.md"), &Page { dialect, guide, recorder }.render());
}

#[test]
fn reference_of_pi_matches_the_program() {
    check_page("pi", "protocol.md", &scenarios::pi());
}

#[test]
fn reference_of_pi_classic_matches_the_program() {
    check_page("pi-classic", "protocol-pi-classic.md", &scenarios::pi_classic());
}

#[test]
fn reference_of_omp_matches_the_program() {
    check_page("omp", "protocol-omp.md", &scenarios::omp());
}

#[test]
fn reference_of_opi_matches_the_program() {
    check_page("opi", "protocol-opi.md", &scenarios::opi());
}

#[test]
fn reference_of_operator_matches_the_program() {
    check_page("operator", "protocol-operator.md", &scenarios::operator("operator"));
}

#[test]
fn reference_of_operator_flat_matches_the_program() {
    check_page("operator-flat", "protocol-operator.md", &scenarios::operator("operator-flat"));
}
