//! What can be wrong with rules and with the file of remembered approvals.

use std::path::PathBuf;

use crate::rules::located;

/// Why rules cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A rule in the settings.
    #[error("approvals.rules[{index}]{}", located(problem))]
    Rule { index: usize, problem: String },
    /// The file of remembered approvals.
    #[error(
        "{}: {problem}. Mend or remove the file: it says what tools may do without asking, so bowline does not guess",
        path.display()
    )]
    Remembered { path: PathBuf, problem: String },
    /// The file of remembered approvals cannot be opened.
    #[error(transparent)]
    File(#[from] bowline_files::Error),
}
