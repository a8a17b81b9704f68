//! Node or Bun, which run the extensions of pi.

use bowline_extension_host::{OLDEST_NODE, Program, pi_runtime};
use bowline_tools::BoxFuture;

use crate::doctor::facts::Facts;
use crate::doctor::finding::Finding;
use crate::doctor::probe;
use crate::extension::list;
use crate::shell_word::quoted;
use crate::startup;

pub(in crate::doctor) fn check(facts: &Facts) -> BoxFuture<'_, Vec<Finding>> {
    Box::pin(async move {
        let is_needed = is_needed(facts);
        let path = facts.environment.variable("PATH").unwrap_or_default();
        let program = match pi_runtime(facts.file.node_path.as_deref(), path) {
            Ok(program) => program,
            Err(problem) if is_needed => {
                return vec![
                    Finding::broken(problem)
                        .because("The extensions of pi that are here do not run.")
                        .remedy("bowline config set nodePath /path/to/node"),
                ];
            }
            Err(_) => return vec![Finding::fine("there is no Node; only extensions of pi need it")],
        };
        let answered = probe::run(facts, format!("{} --version", quoted(&program))).await;
        vec![judged(&program, &answered, is_needed)]
    })
}

/// Tells whether there is an extension of pi that is to be used.
fn is_needed(facts: &Facts) -> bool {
    let plan = startup::extension_plan(
        &facts.arguments,
        &facts.environment,
        facts.entry,
        &facts.file,
        &facts.resources,
    );
    let is_module = |found: &bowline_extension_host::Found| {
        found.launch.as_ref().is_ok_and(|launch| matches!(launch.program, Program::PiModule(_)))
    };
    plan.is_ok_and(|(plan, _)| list::find(&plan, &facts.environment).iter().any(is_module))
}

fn judged(program: &str, answered: &Result<String, String>, is_needed: bool) -> Finding {
    let (major, minor) = OLDEST_NODE;
    let what = match answered {
        Err(problem) => format!("{program} does not work: {problem}"),
        Ok(version) => match number(version) {
            Some(found) if version.starts_with('v') && found < OLDEST_NODE => {
                format!("{program} is Node {version}; extensions of pi need {major}.{minor} or later")
            }
            _ => return Finding::fine(format!("extensions of pi run with {program} ({version})")),
        },
    };
    if !is_needed {
        return Finding::fine(format!("{what}; there are no extensions of pi"));
    }
    Finding::broken(what)
        .because("The extensions of pi that are here do not run.")
        .remedy("bowline config set nodePath /path/to/node")
}

/// Returns the first two numbers of a version.
fn number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim_start_matches('v').split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::State;

    #[test]
    fn old_node_is_broken_if_something_needs_it() {
        let state = |answer: Result<&str, &str>, is_needed| {
            let answer = answer.map(ToOwned::to_owned).map_err(ToOwned::to_owned);
            judged("/bin/node", &answer, is_needed).state
        };
        assert_eq!(state(Ok("v22.15.0"), true), State::Fine);
        assert_eq!(state(Ok("v26.0.1"), true), State::Fine);
        assert_eq!(state(Ok("v22.9.0"), true), State::Broken);
        assert_eq!(state(Ok("v20.1.0"), false), State::Fine);
        assert_eq!(state(Ok("1.4.4"), true), State::Fine, "Bun");
        assert_eq!(state(Err("it did not answer within 5 s"), true), State::Broken);
    }
}
