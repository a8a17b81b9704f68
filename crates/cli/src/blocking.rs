//! Running something that starts processes, in a subcommand.

use std::time::Duration;

use crate::failure::Failure;

/// How long the end waits for processes to die.
const LONGEST_KILL: Duration = Duration::from_secs(2);

/// Runs something that starts processes, and leaves none behind.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    bowline_tools::adopt_orphans(bowline_llm::runs_setting_command);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::io("starting the runtime"))?;
    let result = runtime.block_on(work);
    runtime.shutdown_background();
    bowline_tools::finish_commands(LONGEST_KILL);
    Ok(result)
}
