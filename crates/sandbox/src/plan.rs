//! From what users ask for to what a keeper enforces.

use std::path::{Path, PathBuf};

use bowline_core::sandbox::{Grants, SandboxLevel, SandboxMode, SandboxNetwork};

use crate::error::Error;
use crate::git_folders::{self, GitFolders};
use crate::sandbox::Place;
use crate::wishes::{Home, Wishes};

/// What of the home folder holds credentials, or leads to programs that do.
pub(crate) const CREDENTIALS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".pypirc",
    ".npmrc",
    ".yarnrc.yml",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".config/rclone",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".pgpass",
    ".my.cnf",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/1Password",
    ".config/Bitwarden",
    ".thunderbird",
    ".codex/auth.json",
    ".claude/.credentials.json",
    ".claude.json",
    ".gemini/oauth_creds.json",
    ".pi/agent/auth.json",
    ".omp/agent/auth.json",
    ".config/opi",
    ".local/share/opencode/auth.json",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
];

/// What in a workspace configures agents and editors, which run programs that it names.
pub(crate) const PROTECTED: &[&str] = &[
    ".bowline",
    ".pi",
    ".omp",
    ".claude",
    ".codex",
    ".agents",
    ".mcp.json",
    ".vscode",
    ".idea",
    ".husky",
    ".envrc",
];

/// The port at which programs inside find the proxy.
pub(crate) const PROXY_PORT: u16 = 3128;

/// What a keeper enforces, as far as it is the same for every keeper of the same wishes.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub mode: SandboxMode,
    pub network: SandboxNetwork,
    pub working_directory: PathBuf,
    /// The folders that the user has named for writing.
    pub roots: Vec<PathBuf>,
    /// These, and what else must be writable.
    pub writable: Vec<PathBuf>,
    pub read_only_inside: Vec<PathBuf>,
    pub git_folders: GitFolders,
    pub masked: Vec<PathBuf>,
    pub home: Option<PathBuf>,
    pub home_store: Option<PathBuf>,
    /// Where changes of the working directory go, if it is an overlay.
    pub workspace_store: Option<PathBuf>,
    pub visible: Vec<PathBuf>,
}

/// Returns the folders that tools may write in a mode, or why one of them cannot be.
pub(crate) fn roots(mode: SandboxMode, wishes: &Wishes, place: &Place) -> Result<Vec<PathBuf>, Error> {
    if mode != SandboxMode::WorkspaceWrite {
        return Ok(Vec::new());
    }
    let mut roots = vec![place.working_directory.clone()];
    roots.extend(wishes.writable.iter().map(|path| place.working_directory.join(path)));
    roots.into_iter().map(|path| root(&path, place)).collect()
}

/// Returns the canonical path of a folder that tools may write.
fn root(path: &Path, place: &Place) -> Result<PathBuf, Error> {
    let refused = |reason| Error::Root { path: path.to_owned(), reason };
    let root = path.canonicalize().map_err(|_| refused("it does not exist"))?;
    let home = place.user_home.as_deref().and_then(|home| home.canonicalize().ok());
    let own = place.own_folder.canonicalize().unwrap_or_else(|_| place.own_folder.clone());
    if root == Path::new("/") {
        return Err(refused("it is the root of all files; choose the folder of a project"));
    }
    if ["/home", "/tmp", "/root", "/proc", "/sys", "/dev", "/run"].iter().any(|path| root == Path::new(path))
    {
        return Err(refused("it belongs to the system or to all users; choose the folder of a project"));
    }
    if home.is_some_and(|home| home.starts_with(&root)) {
        return Err(refused("it is the home folder or contains it; choose the folder of a project"));
    }
    if root.starts_with(&own) {
        return Err(refused("it is bowline's own folder, which holds keys and sessions"));
    }
    if !root.is_dir() {
        return Err(refused("it is not a folder"));
    }
    Ok(root)
}

impl Plan {
    /// Makes the plan. Reads folders, so it may take a while.
    pub fn make(
        (mode, network): (SandboxMode, SandboxNetwork),
        wishes: &Wishes,
        place: &Place,
        grants: &Grants,
        workspace_store: Option<&Path>,
    ) -> Result<Self, Error> {
        // What is enforced is what paths lead to.
        let working_directory = bowline_files::canonical(&place.working_directory);
        let place = &Place { working_directory, ..place.clone() };
        let roots = roots(mode, wishes, place)?;
        // What does not exist cannot be masked, and it may be made later.
        bowline_files::create_private_folder(&place.own_folder)
            .map_err(Error::preparing("making bowline's own folder"))?;
        // What was granted in an overlay goes there as well.
        let overlay = workspace_store.map(|_| place.working_directory.as_path());
        let is_covered = |path: &&PathBuf| overlay.is_some_and(|overlay| path.starts_with(overlay));
        let granted: Vec<&PathBuf> = grants.paths.iter().filter(|path| !is_covered(path)).collect();
        for path in &granted {
            make_file(path).map_err(Error::preparing("making a file that was granted"))?;
        }
        let mut git_folders = GitFolders::default();
        for root in &roots {
            let found = GitFolders::find(root);
            git_folders.inside.extend(found.inside);
            // The git folder of a linked worktree is no part of the overlay, so it stays as it is.
            if overlay != Some(root) {
                git_folders.outside.extend(found.outside);
            }
        }
        let mut writable = roots.clone();
        writable.extend(git_folders.outside.iter().cloned());
        writable.extend(granted.into_iter().cloned());
        let mut read_only_inside = protected(&roots, &git_folders);
        let denied = (place.denied)();
        read_only_inside.extend(denied.write.iter().cloned());
        // What was granted was asked for by its very path.
        read_only_inside.retain(|path| path.exists() && !grants.paths.contains(path));
        let home = place.user_home.as_deref().and_then(|home| home.canonicalize().ok());
        let masked = masked(wishes, place, home.as_deref(), &denied.read);
        let home_store = match wishes.home {
            Home::Overlay if mode == SandboxMode::WorkspaceWrite => {
                home.as_deref().map(|home| store(home, place))
            }
            _ => None,
        };
        let home_store =
            home_store.transpose().map_err(Error::preparing("making the store of the home folder"))?;
        let visible = home.iter().cloned().chain(place.program.canonicalize().ok());
        let visible = visible.chain([place.working_directory.clone()]);
        let visible = visible.filter(|path| path.starts_with("/tmp") && path.exists());
        Ok(Self {
            mode,
            network,
            working_directory: place.working_directory.clone(),
            roots,
            writable,
            read_only_inside,
            git_folders,
            masked,
            visible: visible.collect(),
            home,
            home_store,
            workspace_store: workspace_store.map(Path::to_owned),
        })
    }

    /// Returns the plan without what is an overlay: there, nothing of the real folder changes.
    pub fn written_directly(&self) -> Self {
        let mut plan = self.clone();
        if self.workspace_store.is_some() {
            let is_outside = |path: &PathBuf| !path.starts_with(&self.working_directory);
            plan.roots.retain(|root| *root != self.working_directory);
            plan.git_folders.inside.retain(is_outside);
        }
        plan
    }
}

/// Makes a file that tools were allowed to write and that does not exist: nothing can be mounted on a name alone.
fn make_file(path: &Path) -> std::io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::OpenOptions::new().write(true).create_new(true).open(path).map(drop)
}

/// Returns what exists of the protected paths.
fn protected(roots: &[PathBuf], git_folders: &GitFolders) -> Vec<PathBuf> {
    let configuration = roots.iter().flat_map(|root| PROTECTED.iter().map(move |name| root.join(name)));
    let git =
        git_folders.all().flat_map(|folder| git_folders::PROTECTED.iter().map(move |name| folder.join(name)));
    // A link is left alone: what it leads to is either outside or has a name of its own.
    let is_plain = |path: &PathBuf| std::fs::symlink_metadata(path).is_ok_and(|found| !found.is_symlink());
    configuration.chain(git).filter(is_plain).collect()
}

/// Returns what exists of the paths that tools cannot read, bowline's own folder first.
fn masked(wishes: &Wishes, place: &Place, home: Option<&Path>, denied: &[PathBuf]) -> Vec<PathBuf> {
    let readable = |path: &Path| {
        wishes.readable.iter().any(|readable| {
            let readable = place.working_directory.join(readable);
            readable.canonicalize().is_ok_and(|readable| path.starts_with(readable))
        })
    };
    let credentials = home.into_iter().flat_map(|home| CREDENTIALS.iter().map(move |name| home.join(name)));
    let own = place.own_places.iter().filter_map(|path| path.canonicalize().ok());
    // Sessions may be kept in the working folder itself, which cannot be closed to the tools.
    let own = own.filter(|path| !place.working_directory.starts_with(path));
    let others = credentials.chain(denied.iter().cloned());
    let others = others.filter_map(|path| path.canonicalize().ok()).filter(|path| !readable(path));
    let mut masked: Vec<PathBuf> = Vec::new();
    for path in own.chain(others) {
        if !masked.iter().any(|above| path.starts_with(above)) {
            masked.push(path);
        }
    }
    masked
}

/// Returns the folder for changes to the home folder, one for each project. It must not be in the home folder itself, which
/// an overlay does not allow.
fn store(home: &Path, place: &Place) -> std::io::Result<PathBuf> {
    let project =
        ring::digest::digest(&ring::digest::SHA256, place.working_directory.as_os_str().as_encoded_bytes());
    let name: String = project.as_ref().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    let own = place.own_folder.join("sandbox/home");
    let parent = if own.starts_with(home) {
        let user = rustix::process::getuid().as_raw();
        Path::new("/var/tmp").join(format!("bowline-home-{user}"))
    } else {
        own
    };
    bowline_files::create_private_folder(&parent)?;
    use std::os::unix::fs::MetadataExt as _;
    let found = std::fs::symlink_metadata(&parent)?;
    if !found.is_dir() || found.uid() != rustix::process::getuid().as_raw() || found.mode() & 0o077 != 0 {
        return Err(std::io::Error::other(format!(
            "{} is not a folder of this user alone",
            parent.display()
        )));
    }
    let store = parent.join(name);
    bowline_files::create_private_folder(&store)?;
    store.canonicalize()
}

/// Returns the level to use, or why none is good enough.
pub(crate) fn level(
    trial: &crate::keeper::Trial,
    network: SandboxNetwork,
    wishes: &Wishes,
    wanted: Option<SandboxLevel>,
) -> Result<SandboxLevel, Error> {
    let is_enough = wanted.is_none_or(|level| level == SandboxLevel::Full);
    if is_enough && trial.namespaces.is_none() && trial.landlock >= 1 {
        return Ok(SandboxLevel::Full);
    }
    let cause = match (&trial.namespaces, trial.landlock) {
        (_, 0) => "the kernel has no Landlock".to_owned(),
        (Some(cause), _) => format!("namespaces are not to be had ({cause})"),
        (None, version) => format!("Landlock is too old (version {version})"),
    };
    if trial.landlock >= 3 && wanted.unwrap_or(wishes.minimum) <= SandboxLevel::Landlock {
        return match network {
            SandboxNetwork::AllowList => Err(Error::AllowListNeedsNamespaces),
            _ => Ok(SandboxLevel::Landlock),
        };
    }
    let remedy = remedy(trial);
    Err(Error::LevelUnavailable { minimum: wishes.minimum.as_str(), cause, remedy })
}

/// Says what a user can do about a system that does not offer enough.
fn remedy(trial: &crate::keeper::Trial) -> String {
    let mut remedies = Vec::new();
    if trial.namespaces.is_some() {
        remedies.push(
            "On Ubuntu, `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` or an AppArmor profile for bowline \
             allows them; in a container, run it with a profile that does"
                .to_owned(),
        );
    }
    if trial.landlock >= 3 {
        remedies.push("to accept less, set sandbox.minimum to \"landlock\"".to_owned());
    }
    remedies.push(
        "to run without a sandbox, use --sandbox full-access, or external if something else confines it"
            .to_owned(),
    );
    format!("{}.", remedies.join("; "))
}
