//! git, which installs packages from repositories.

use bowline_tools::BoxFuture;

use crate::doctor::facts::Facts;
use crate::doctor::finding::Finding;
use crate::doctor::probe;

pub(in crate::doctor) fn check(facts: &Facts) -> BoxFuture<'_, Vec<Finding>> {
    Box::pin(async move {
        // Only its version: in a repository, git runs what the repository's configuration names.
        vec![match probe::run(facts, "git --version".to_owned()).await {
            Ok(version) => Finding::fine(version),
            Err(problem) => Finding::look(format!("git does not work: {problem}"))
                .because("Packages from git repositories cannot be installed, and most projects need it."),
        }]
    })
}
