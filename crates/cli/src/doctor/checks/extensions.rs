//! The extensions: each is started as for a session, and ended.

use bowline_extension_host::{DEFAULT_START_LIMIT, NotLoaded};
use bowline_tools::BoxFuture;

use crate::doctor::facts::Facts;
use crate::doctor::finding::{Finding, command};
use crate::extension::list::{self, Listed};
use crate::startup;

pub(in crate::doctor) fn check(facts: &Facts) -> BoxFuture<'_, Vec<Finding>> {
    Box::pin(async move {
        let planned = startup::extension_plan(
            &facts.arguments,
            &facts.environment,
            facts.entry,
            &facts.file,
            &facts.resources,
        );
        let (mut plan, providers) = match planned {
            Ok(planned) => planned,
            Err(failure) => return vec![Finding::look(format!("not checked: {failure}"))],
        };
        // The user may let a session wait longer.
        plan.start_limit = plan.start_limit.min(DEFAULT_START_LIMIT);
        let found = list::find(&plan, &facts.environment);
        if found.is_empty() {
            return vec![Finding::fine("there are no extensions")];
        }
        match list::start(&found, plan, providers, &facts.environment).await {
            // Packages that are not there are what another check is about.
            Ok(listed) => listed
                .iter()
                .filter(|listed| listed.found.path.is_absolute())
                .map(|listed| of_listed(facts, listed))
                .collect(),
            Err(failure) => vec![Finding::broken(failure.to_string())],
        }
    })
}

fn of_listed(facts: &Facts, listed: &Listed<'_>) -> Finding {
    let name = &listed.found.name;
    let path = facts.shown(&listed.found.path);
    match (&listed.problem, &listed.found.launch) {
        (None, _) => Finding::fine(format!("{name} starts ({path})")),
        (Some(problem), Err(NotLoaded::Unused(_))) => {
            Finding::fine(format!("{name} is not loaded: {problem} ({path})"))
        }
        (Some(problem), _) if listed.has_failed => Finding::broken(format!("{name}: {problem}"))
            .because(format!("It is not used. It is in {path}."))
            .remedy(command("bowline extension check", &listed.found.path)),
        (Some(problem), _) => Finding::look(format!("{name}: {problem} ({path})"))
            .remedy(command("bowline extension check", &listed.found.path)),
    }
}
