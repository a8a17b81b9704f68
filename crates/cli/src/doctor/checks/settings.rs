//! `settings.json`, and what bowline would say of it at the start.

use crate::doctor::facts::Facts;
use crate::doctor::finding::{Finding, command};
use crate::settings::SettingsFile;
use crate::startup;

/// The permission bits with which others could change the file.
const WRITABLE_BY_OTHERS: u32 = 0o022;

pub(in crate::doctor) fn check(facts: &Facts) -> Vec<Finding> {
    let path = SettingsFile::path(&facts.environment);
    let shown = facts.shown(&path);
    if let Some(problem) = &facts.settings_problem {
        return vec![
            Finding::broken(problem.clone())
                .because("bowline does not start. The other checks use the defaults.")
                .remedy("bowline help settings"),
        ];
    }
    let mut findings = Vec::new();
    if let Err(failure) = startup::check_settings(facts.entry, &facts.environment, &facts.file) {
        let finding = Finding::broken(failure.to_string()).because("bowline does not start.");
        findings.push(finding.remedy("bowline help settings"));
    }
    for warning in &facts.settings_warnings {
        findings.push(Finding::look(warning.clone()).remedy("bowline help settings"));
    }
    if bowline_files::mode(&path).is_some_and(|mode| mode & WRITABLE_BY_OTHERS != 0) {
        findings.push(
            Finding::look(format!("{shown} can be changed by other users"))
                .because("Settings name programs that bowline runs.")
                .remedy(command("chmod go-w", &path)),
        );
    }
    if findings.is_empty() {
        findings.push(Finding::fine(match path.symlink_metadata() {
            Ok(_) => format!("{shown} is in order"),
            Err(_) => format!("there is no {shown}; the defaults apply"),
        }));
    }
    findings
}
