//! From what users ask for to what a keeper enforces.

use std::path::{Path, PathBuf};

use bowline_core::sandbox::{SandboxLevel, SandboxMode, SandboxNetwork};

use crate::error::Error;
use crate::git_folders::{self, GitFolders};
use crate::sandbox::Place;
use crate::wishes::Wishes;

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

/// Folders that are nobody's project.
const OF_SYSTEM: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/dev/shm",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/mnt",
    "/opt",
    "/root",
    "/run",
    "/run/user",
    "/sbin",
    "/srv",
    "/tmp",
    "/usr",
    "/usr/local",
    "/var",
    "/var/lib",
    "/var/tmp",
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
    /// The files that were granted.
    pub granted: Vec<PathBuf>,
    pub read_only_inside: Vec<PathBuf>,
    pub git_folders: GitFolders,
    pub masked: Vec<PathBuf>,
    /// What should be masked, but is in a folder that tools may write, and there are no mounts.
    pub unmasked: Vec<PathBuf>,
    /// What would be masked if it existed.
    pub absent: Vec<PathBuf>,
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
    let own = place.own_folder.canonicalize().unwrap_or_else(|_| place.own_folder.clone());
    if root == Path::new("/") {
        return Err(refused("it is the root of all files; choose the folder of a project"));
    }
    let is_of_system = OF_SYSTEM.iter().any(|path| root == Path::new(path));
    if is_of_system || ["/proc", "/sys"].iter().any(|path| root.starts_with(path)) {
        return Err(refused("it belongs to the system or to all users; choose the folder of a project"));
    }
    let is_of_credentials = |path: PathBuf| root.starts_with(path);
    if credentials(&homes(place)).any(is_of_credentials) {
        return Err(refused("it is a place for credentials, which tools cannot read"));
    }
    if homes(place).iter().any(|home| home.starts_with(&root)) {
        return Err(refused("it is the home folder or contains it; choose the folder of a project"));
    }
    if root.starts_with(&own) {
        return Err(refused("it is bowline's own folder, which holds keys and sessions"));
    }
    // A mount keeps a folder from being renamed, but not the folders above it.
    if own.parent().is_some_and(|parent| parent != root && parent.starts_with(&root)) {
        return Err(refused(
            "bowline's own folder is deep inside of it, where tools could put another in its place",
        ));
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
        granted: &[PathBuf],
        home_store: Option<PathBuf>,
        workspace_store: Option<&Path>,
    ) -> Result<Self, Error> {
        // What is enforced is what paths lead to.
        let working_directory = bowline_files::canonical(&place.working_directory);
        let place = &Place { working_directory, ..place.clone() };
        let roots = roots(mode, wishes, place)?;
        // What does not exist cannot be masked, and it may be made later.
        bowline_files::create_private_folder(&place.own_folder)
            .map_err(Error::preparing("making bowline's own folder"))?;
        let overlay = workspace_store.map(|_| place.working_directory.as_path());
        for path in granted {
            make_file(path).map_err(Error::preparing("making a file that was granted"))?;
        }
        let mut git_folders = GitFolders::default();
        for root in &roots {
            let mut found = GitFolders::find(root);
            // The git folder of a linked worktree is no part of the overlay, so it stays as it is.
            if overlay == Some(root) {
                found.outside.clear();
            }
            git_folders.extend(found);
        }
        let mut writable = roots.clone();
        writable.extend(git_folders.outside.iter().cloned());
        writable.extend(granted.iter().cloned());
        let mut read_only_inside = protected(&roots, &git_folders);
        let denied = (place.denied)().map_err(Error::Rule)?;
        read_only_inside.extend(denied.write.iter().cloned());
        // What was granted was asked for by its very path.
        read_only_inside.retain(|path| path.exists() && !granted.contains(path));
        // The policy is JSON, so a path that is not UTF-8 cannot be mounted; it is watched instead.
        read_only_inside.retain(|path| path.to_str().is_some());
        let home = place.user_home.as_deref().and_then(|home| home.canonicalize().ok());
        let homes = homes(place);
        let masked = masked(wishes, place, &homes, &denied.read);
        let absent = credentials(&homes).filter(|path| path.symlink_metadata().is_err()).collect();
        let visible = home.iter().cloned().chain(place.program.canonicalize().ok());
        let visible = visible.chain([place.working_directory.clone()]);
        let visible = visible.filter(|path| path.starts_with("/tmp") && path.exists());
        Ok(Self {
            mode,
            network,
            working_directory: place.working_directory.clone(),
            roots,
            writable,
            granted: granted.to_vec(),
            read_only_inside,
            git_folders,
            masked,
            unmasked: Vec::new(),
            absent,
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

impl Plan {
    /// Takes note of what a level cannot enforce: Landlock cannot take back what it grants for a folder above.
    pub fn for_level(mut self, level: SandboxLevel, place: &Place) -> Result<Self, Error> {
        if level == SandboxLevel::Full {
            return Ok(self);
        }
        let is_open = |path: &PathBuf| self.writable.iter().any(|root| path.starts_with(root));
        (self.unmasked, self.masked) = self.masked.into_iter().partition(is_open);
        let own = place.own_folder.canonicalize().unwrap_or_else(|_| place.own_folder.clone());
        match self.writable.iter().find(|root| own.starts_with(root)) {
            Some(root) => Err(Error::Root {
                path: root.clone(),
                reason: "bowline's own folder is inside of it, which cannot be closed to tools without namespaces",
            }),
            None => Ok(self),
        }
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
    let all = configuration.chain(git).chain(git_folders.files.iter().cloned());
    // Nothing can be mounted on a link. What it leads to is protected if tools could change it; the link itself is watched.
    let real = all.filter_map(|path| match std::fs::symlink_metadata(&path).ok()?.is_symlink() {
        false => Some(path),
        true => path.canonicalize().ok().filter(|target| roots.iter().any(|root| target.starts_with(root))),
    });
    let mut real: Vec<_> = real.filter(|path| !roots.contains(path)).collect();
    real.sort();
    real.dedup();
    real
}

/// Returns the home folder that the environment names, and the one of the user's account, which programs without the
/// variable use.
fn homes(place: &Place) -> Vec<PathBuf> {
    let named = place.user_home.iter().chain(&place.account_home);
    let mut homes: Vec<_> = named.filter_map(|home| home.canonicalize().ok()).collect();
    homes.dedup();
    homes
}

fn credentials(homes: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    homes.iter().flat_map(|home| CREDENTIALS.iter().map(move |name| home.join(name)))
}

/// Tells whether something is protected, whether it exists or not. The plan knows of git folders that are elsewhere.
pub(crate) fn is_protected(path: &Path, roots: &[PathBuf], plan: Option<&Plan>) -> bool {
    let is_configuration = |root: &PathBuf| PROTECTED.iter().any(|name| path.starts_with(root.join(name)));
    let is_in_git = || {
        let mut after = path.components().skip_while(|part| part.as_os_str() != ".git").skip(1);
        let names = || git_folders::PROTECTED.iter().chain(&git_folders::POINTERS);
        after.any(|part| names().any(|name| part.as_os_str() == *name))
    };
    let is_known = |plan: &Plan| plan.read_only_inside.iter().any(|known| path.starts_with(known));
    let is_inside = roots.iter().any(|root| path.starts_with(root));
    is_inside && (roots.iter().any(is_configuration) || is_in_git()) || plan.is_some_and(is_known)
}

/// Tells whether something is closed to tools, whatever the user's rules say.
pub(crate) fn is_masked(path: &Path, wishes: &Wishes, place: &Place) -> bool {
    masked(wishes, place, &homes(place), &[]).iter().any(|masked| path.starts_with(masked))
}

/// Returns what exists of the paths that tools cannot read, bowline's own folder first.
fn masked(wishes: &Wishes, place: &Place, homes: &[PathBuf], denied: &[PathBuf]) -> Vec<PathBuf> {
    let readable = |path: &Path| {
        wishes.readable.iter().any(|readable| {
            let readable = place.working_directory.join(readable);
            readable.canonicalize().is_ok_and(|readable| path.starts_with(readable))
        })
    };
    let own = place.own_places.iter().filter_map(|path| path.canonicalize().ok());
    // Sessions may be kept in the working folder itself, which cannot be closed to the tools.
    let own = own.filter(|path| !place.working_directory.starts_with(path));
    let others = credentials(homes).chain(denied.iter().cloned());
    let others = others.filter_map(|path| path.canonicalize().ok()).filter(|path| !readable(path));
    let mut masked: Vec<PathBuf> = Vec::new();
    for path in own.chain(others) {
        if !masked.iter().any(|above| path.starts_with(above)) {
            masked.push(path);
        }
    }
    masked
}

/// How many sessions of a project may have an overlay of the home folder at the same time.
const MOST_STORES: u32 = 16;

/// A folder for changes to the home folder, which one session uses at a time: what two overlays do with one is undefined.
#[derive(Debug)]
pub(crate) struct HomeStore {
    pub path: PathBuf,
    _lock: std::fs::File,
}

/// Returns the folder for changes to the home folder, one for each project, or another one if a session has that. It must
/// not be in the home folder itself, which an overlay does not allow.
pub(crate) fn home_store(home: &Path, place: &Place) -> std::io::Result<HomeStore> {
    let project = bowline_files::canonical(&place.working_directory);
    let project = ring::digest::digest(&ring::digest::SHA256, project.as_os_str().as_encoded_bytes());
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
    for number in 1..=MOST_STORES {
        let store = parent.join(if number == 1 { name.clone() } else { format!("{name}-{number}") });
        bowline_files::create_private_folder(&store)?;
        let lock = std::fs::File::open(&store)?;
        if lock.try_lock().is_ok() {
            return Ok(HomeStore { path: store.canonicalize()?, _lock: lock });
        }
    }
    Err(std::io::Error::other("too many sessions of this project are running"))
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
        (Some(cause), _) => format!("namespaces are unavailable ({cause})"),
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
