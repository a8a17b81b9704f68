//! What confines the tools of a session in a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_approval::{Gate, Unsearched};
use bowline_sandbox::{Denied, Place, Sandbox, Wishes};
use bowline_tools::{Confinement, Options};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::note;

/// Returns bowline's own folder, those of its files that may be links, and where sessions are.
fn own_places(environment: &Environment, sessions: Option<&Path>) -> Vec<PathBuf> {
    let mut places = bowline_tools::own_paths(&environment.home);
    places.extend(sessions.map(Path::to_owned));
    places
}

/// Returns what confines the tools in a folder. It is there even if it confines nothing at first, because a client may ask
/// for it later.
pub(crate) fn confinement(
    wishes: Wishes,
    environment: &Environment,
    directory: &Path,
    options: &Options,
    sessions: Option<&Path>,
    gate: Option<&Gate>,
) -> Result<Option<Arc<dyn Confinement>>, Failure> {
    let denied: Arc<dyn Fn() -> Denied + Send + Sync> = match gate {
        Some(gate) => {
            let (gate, directory) = (gate.clone(), directory.to_owned());
            Arc::new(move || {
                let paths = gate.forbidden_paths(&directory);
                for Unsearched { pattern, folder, limit } in &paths.unsearched {
                    note(format_args!(
                        "bowline: the rule for \"{pattern}\" closes all of {} to tools: it has {limit}, which is too much to \
                         search",
                        folder.display()
                    ));
                }
                Denied { read: paths.read, write: paths.write }
            })
        }
        None => Arc::new(Denied::default),
    };
    let place = Place {
        working_directory: directory.to_owned(),
        user_home: environment.user_home.clone(),
        own_folder: environment.home.clone(),
        own_places: own_places(environment, sessions),
        temporary_directory: environment.temporary_directory.clone(),
        program: PathBuf::from("/proc/self/exe"),
        options: Arc::new(options.clone()),
        level: None,
        denied,
    };
    let sandbox = Sandbox::new(wishes, place).map_err(|error| Failure::Sandbox(error.to_string()))?;
    Ok(Some(sandbox))
}
