//! The terminal, for `bowline chat` and the demo.

use std::io::IsTerminal as _;

use crate::doctor::facts::Facts;
use crate::doctor::finding::Finding;
use crate::terminal::columns;

/// The fewest columns that tables fit into.
const FEWEST: usize = 60;

pub(in crate::doctor) fn check(facts: &Facts) -> Vec<Finding> {
    if !std::io::stdout().is_terminal() {
        return vec![Finding::fine("stdout is not a terminal, so there is nothing to check")];
    }
    let variable = |name: &str| facts.environment.variable(name).unwrap_or_default();
    let name = variable("TERM");
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().map(variable).find(|value| !value.is_empty());
    let is_utf8 = locale.is_some_and(|locale| locale.to_lowercase().replace('-', "").contains("utf8"));
    if name.is_empty() || name == "dumb" {
        return vec![
            Finding::look(format!("TERM is \"{name}\""))
                .because("bowline chat cannot edit lines or show colours."),
        ];
    }
    if cfg!(unix) && !is_utf8 {
        return vec![
            Finding::look("the locale does not say that the terminal shows UTF-8")
                .because("Letters beyond English may look wrong.")
                .remedy("export LANG=C.UTF-8"),
        ];
    }
    match columns() {
        Some(columns) if columns < FEWEST => {
            vec![Finding::look(format!("the terminal has only {columns} columns"))]
        }
        columns => {
            let columns = columns.map(|columns| format!(", {columns} columns")).unwrap_or_default();
            vec![Finding::fine(format!("{name}{columns}"))]
        }
    }
}
