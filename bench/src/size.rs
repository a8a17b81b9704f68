//! The size of the binary and the number of crates.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::failure::Failure;
use crate::figure::{Figure, Unit};
use crate::measures::Subject;

/// Measures the binary, and counts the crates it is built from.
pub(crate) fn measure(subject: &Subject) -> Result<Vec<Figure>, Failure> {
    let bytes = fs::metadata(&subject.binary).map_err(Failure::while_doing("looking at the binary"))?.len();
    let mut figures = vec![Figure::plain("size of the binary", Unit::Megabytes, bytes as f64 / 1e6)];
    match count_crates() {
        Ok(count) => figures.push(Figure::plain("crates it is built from", Unit::Count, count as f64)),
        Err(failure) => eprintln!("bowline-bench: the crates are not counted: {failure}"),
    }
    Ok(figures)
}

/// Counts the crates of a normal build, bowline's own included.
fn count_crates() -> Result<usize, Failure> {
    let output = Command::new("cargo")
        .args(["tree", "--package", "bowline", "--edges", "normal", "--prefix", "none", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .map_err(Failure::while_doing("starting cargo tree"))?;
    if !output.status.success() {
        return Err(Failure::new(String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(distinct(&String::from_utf8_lossy(&output.stdout)))
}

/// Counts the crates in the output of `cargo tree`, which marks repeated ones.
fn distinct(tree: &str) -> usize {
    let crates: BTreeSet<&str> =
        tree.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| !line.is_empty()).collect();
    crates.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_crate_is_counted_once() {
        assert_eq!(distinct("a v1.0.0\nb v1.0.0\nb v2.0.0\na v1.0.0 (*)\n\n"), 3);
    }
}
