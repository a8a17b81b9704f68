//! The packages that the settings name, and whether they are there.

use bowline_extension::packages::{Content, Source};

use crate::doctor::facts::Facts;
use crate::doctor::finding::Finding;
use crate::packages::installed_here;

pub(in crate::doctor) fn check(facts: &Facts) -> Vec<Finding> {
    let packages = installed_here(&facts.arguments, &facts.environment, &facts.file);
    if packages.is_empty() {
        return vec![Finding::fine("there are no packages")];
    }
    let mut fine = Vec::new();
    let mut findings = Vec::new();
    for package in &packages {
        let source = Source::shown(&package.source);
        match &package.root {
            // The text has the command that installs it.
            Err(problem) => findings.push(match problem.split_once("to install it, run: ") {
                Some((what, command)) => {
                    Finding::broken(format!("{source}: {}", what.trim_end_matches("; "))).remedy(command)
                }
                None => Finding::broken(format!("{source}: {problem}")),
            }),
            Ok(_) if Content::of(package).is_empty() => {
                findings
                    .push(Finding::look(format!("{source}: nothing is used of it")).remedy("bowline list"));
            }
            Ok(_) => fine.push(source),
        }
    }
    if !fine.is_empty() {
        findings.insert(0, Finding::fine(format!("installed: {}", fine.join(", "))));
    }
    findings
}
