//! What confines the tools of a session in a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_approval::{Gate, Unsearched};
use bowline_sandbox::{Denied, Place, Sandbox, Wishes};
use bowline_tools::{Confinement, Options};

use crate::environment::Environment;
use crate::failure::Failure;

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
    let denied: Arc<dyn Fn() -> Result<Denied, String> + Send + Sync> = match gate {
        Some(gate) => {
            let (gate, directory) = (gate.clone(), directory.to_owned());
            Arc::new(move || {
                let paths = gate.forbidden_paths(&directory);
                match paths.unsearched.first() {
                    None => Ok(Denied { read: paths.read, write: paths.write }),
                    Some(Unsearched { pattern, folder, limit }) => Err(format!(
                        "the rule for \"{pattern}\" cannot be enforced: {} has {limit}. Let the rule name a folder",
                        folder.display()
                    )),
                }
            })
        }
        None => Arc::new(|| Ok(Denied::default())),
    };
    let place = Place {
        working_directory: directory.to_owned(),
        user_home: environment.user_home.clone(),
        account_home: account_home(),
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

/// The most bytes of the list of accounts.
const LONGEST_LIST: u64 = 1 << 20;

/// Returns the home folder that the machine's list of accounts has for this user. Accounts of a directory service are not on it.
fn account_home() -> Option<PathBuf> {
    let user = rustix::process::getuid().as_raw().to_string();
    let accounts = bowline_files::read_text(Path::new("/etc/passwd"), LONGEST_LIST).ok()?;
    let home = accounts.lines().find_map(|line| {
        let fields: Vec<_> = line.split(':').collect();
        fields.get(5).filter(|_| fields.get(2) == Some(&user.as_str())).copied()
    });
    home.filter(|home| home.starts_with('/')).map(PathBuf::from)
}
