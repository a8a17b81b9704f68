//! The shell that runs commands.

use bowline_tools::BoxFuture;

use crate::doctor::facts::Facts;
use crate::doctor::finding::Finding;
use crate::doctor::probe;

/// What the shell is to print.
const WORD: &str = "bowline";

pub(in crate::doctor) fn check(facts: &Facts) -> BoxFuture<'_, Vec<Finding>> {
    Box::pin(async move {
        let named = facts.file.shell_path.as_deref();
        let shell = named.map_or_else(bowline_tools::default_shell, ToOwned::to_owned);
        let shell = facts.shown(&shell);
        let answered = probe::run(facts, format!("printf '%s' {WORD}")).await;
        let problem = match answered {
            Ok(text) if text == WORD => return vec![Finding::fine(format!("{shell} runs commands"))],
            Ok(text) => format!("it printed {text:?} where {WORD} was asked for"),
            Err(problem) => problem,
        };
        let finding =
            Finding::broken(format!("{shell} does not work: {problem}")).because("No command can run.");
        vec![match named {
            Some(_) => finding.remedy("bowline config unset shellPath"),
            None => finding.remedy("bowline config set shellPath /bin/sh"),
        }]
    })
}
