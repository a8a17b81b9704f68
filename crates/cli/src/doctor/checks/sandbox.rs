//! What confines tools here, tried as `bowline sandbox explain` tries it.

use bowline_core::sandbox::{PromiseState, SandboxMode, SandboxReport};
use bowline_tools::BoxFuture;

use crate::doctor::facts::Facts;
use crate::doctor::finding::Finding;
use crate::sandbox::SubcommandContext;

pub(in crate::doctor) fn check(facts: &Facts) -> BoxFuture<'_, Vec<Finding>> {
    Box::pin(async move {
        let mode = facts.arguments.sandbox.or(facts.file.sandbox.mode).unwrap_or_default();
        if mode.is_confined() {
            return vec![match prove(facts, mode).await {
                Ok(report) => of_confined(&report),
                Err(problem) => {
                    Finding::broken(problem).because("No tool runs.").remedy("bowline sandbox explain")
                }
            }];
        }
        let chosen = match mode {
            SandboxMode::External => Finding::fine("something else confines bowline, as the settings say"),
            _ => Finding::fine(format!("tools have all your rights ({})", mode.as_str())),
        };
        let possible = match prove(facts, SandboxMode::WorkspaceWrite).await {
            Ok(report) => {
                Finding::fine(format!("a sandbox is available at the level {}", report.level.as_str()))
                    .because(
                        "--sandbox workspace-write lets tools write this folder only, without a network.",
                    )
            }
            Err(problem) => Finding::look(problem).because("bowline works without --sandbox."),
        };
        vec![chosen, possible]
    })
}

/// Tries what a mode promises.
async fn prove(facts: &Facts, mode: SandboxMode) -> Result<SandboxReport, String> {
    let mut arguments = facts.arguments.clone();
    arguments.sandbox = Some(mode);
    let context = SubcommandContext::of(
        &arguments,
        facts.environment.clone(),
        &facts.file,
        &facts.entry.start,
        Some(mode),
    );
    let confinement = context.and_then(|context| context.confinement());
    confinement.map_err(|failure| failure.to_string())?.prove(None).await
}

fn of_confined(report: &SandboxReport) -> Finding {
    let count = |state| report.promises.iter().filter(|promise| promise.state == state).count();
    let (mode, level) = (report.mode.as_str(), report.level.as_str());
    let proved = count(PromiseState::Proved);
    let what =
        format!("{mode}, level {level}, network {}: {proved} promises proved", report.network.as_str());
    match count(PromiseState::Absent) {
        0 => Finding::fine(what),
        absent => Finding::look(format!("{what}, {absent} do not hold")).remedy("bowline sandbox explain"),
    }
}
