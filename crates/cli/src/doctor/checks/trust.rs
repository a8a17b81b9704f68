//! Whether what this project brings along is used.

use bowline_extension::trust::{TrustFile, found_in};

use crate::doctor::facts::Facts;
use crate::doctor::finding::{Finding, command};

pub(in crate::doctor) fn check(facts: &Facts) -> Vec<Finding> {
    let environment = &facts.environment;
    let here = &environment.working_directory;
    let file = TrustFile::in_folder(&environment.home);
    let decision = match file.decision(here) {
        Ok(decision) => decision,
        Err(error) => {
            return vec![Finding::broken(error.to_string()).because("No project is trusted.")];
        }
    };
    let found = found_in(here, &environment.home, environment.user_home.as_deref());
    let relative = |path: &std::path::PathBuf| path.strip_prefix(here).unwrap_or(path).display().to_string();
    let names = found.iter().map(relative).collect::<Vec<_>>().join(", ");
    vec![match (facts.is_trusted(), decision) {
        _ if found.is_empty() => Finding::fine("this folder brings nothing along that needs trust"),
        (true, _) => Finding::fine(format!("this project is trusted; it brings along {names}")),
        (false, Some(_)) => {
            Finding::fine(format!("this project is not trusted, as you decided: {names} is not used"))
        }
        (false, None) => Finding::look(format!("this project is not trusted: {names} is not used"))
            .because("It can steer the agent and run programs. Look at it first; then decide:")
            .remedy(command("bowline trust", here))
            .remedy(command("bowline trust --no-approve", here)),
    }]
}
