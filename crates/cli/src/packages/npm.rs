//! Packages of npm: one folder for each place, with a `package.json` of its own.

use std::fs;
use std::path::Path;
use std::time::Duration;

use bowline_core::slash_command::Scope;
use bowline_extension::packages::Place;
use bowline_files::Lock;

use super::programs::{Hint, Program};
use crate::failure::Failure;
use crate::terminal::note;

const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };

/// How long another installation is waited for.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

const IF_MISSING: &str = "install Node.js, or name the program that installs packages in the setting npmCommand, such as [\"pnpm\"]";

/// What the user is told about failures of npm.
const HINTS: &[Hint] = &[
    Hint { signs: &["E404", "ERR_PNPM_FETCH_404"], means: "the registry has no package of that name" },
    Hint { signs: &["ETARGET", "ERR_PNPM_NO_MATCHING_VERSION"], means: "the package has no such version" },
    Hint {
        signs: &[
            "ENOTFOUND",
            "EAI_AGAIN",
            "ECONNREFUSED",
            "ETIMEDOUT",
            "ENETUNREACH",
            "ECONNRESET",
            "ENOTCACHED",
        ],
        means: "the registry cannot be reached; are you offline?",
    },
    Hint { signs: &["EACCES", "EPERM"], means: "it may not write there" },
    Hint { signs: &["ENOENT"], means: "there is no such file" },
];

/// The command that stands for npm.
pub(super) struct Npm {
    program: String,
    first: Vec<String>,
    /// Whether the user named it.
    is_chosen: bool,
}

/// Who npm is really: their flags differ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manager {
    Npm,
    Pnpm,
    Bun,
}

impl Npm {
    pub fn new(command: Option<Vec<String>>) -> Self {
        let mut words = command.unwrap_or_default().into_iter();
        match words.next().filter(|word| !word.is_empty()) {
            Some(program) => Self { program, first: words.collect(), is_chosen: true },
            None => Self { program: NPM.to_owned(), first: Vec::new(), is_chosen: false },
        }
    }

    /// Installs packages of a place, as npm is given them.
    pub fn install(&self, place: &Place, specs: &[String]) -> Result<(), Failure> {
        let folder = place.npm_folder();
        prepare(place, &folder)?;
        let _lock = lock(&folder)?;
        let shown = folder.display().to_string();
        let mut arguments = vec!["install".to_owned()];
        arguments.extend_from_slice(specs);
        // Packages name pi's own as peers, which the host brings along.
        let further: &[&str] = match self.manager() {
            Manager::Npm => &["--prefix", &shown, "--legacy-peer-deps"],
            Manager::Pnpm => &[
                "--prefix",
                &shown,
                "--config.auto-install-peers=false",
                "--config.strict-peer-dependencies=false",
                "--config.strict-dep-builds=false",
            ],
            Manager::Bun => &["--cwd", &shown, "--omit=peer"],
        };
        self.run(arguments, further, &folder)
    }

    /// Removes a package of a place.
    pub fn uninstall(&self, place: &Place, name: &str) -> Result<(), Failure> {
        let folder = place.npm_folder();
        let _lock = lock(&folder)?;
        let shown = folder.display().to_string();
        let further: &[&str] = match self.manager() {
            Manager::Npm => &["--prefix", &shown, "--legacy-peer-deps"],
            Manager::Pnpm => &["--prefix", &shown],
            Manager::Bun => &["--cwd", &shown],
        };
        self.run(vec!["uninstall".to_owned(), name.to_owned()], further, &folder)
    }

    /// Installs what the `package.json` in a folder names.
    pub fn install_dependencies(&self, folder: &Path) -> Result<(), Failure> {
        let further: &[&str] = if self.is_chosen { &[] } else { &["--omit=dev", "--legacy-peer-deps"] };
        self.run(vec!["install".to_owned()], further, folder)
    }

    fn run(&self, arguments: Vec<String>, further: &[&str], folder: &Path) -> Result<(), Failure> {
        let mut all = self.first.clone();
        all.extend(arguments);
        all.extend(further.iter().map(|word| (*word).to_owned()));
        let program = Program {
            name: &self.program,
            arguments: all,
            folder,
            variables: Vec::new(),
            if_missing: IF_MISSING,
            hints: HINTS,
        };
        program.run()
    }

    fn manager(&self) -> Manager {
        // In `mise exec node -- pnpm` it is the word after the dashes.
        let after_dashes =
            self.first.iter().rposition(|word| word == "--").and_then(|at| self.first.get(at + 1));
        let name = Path::new(after_dashes.unwrap_or(&self.program)).file_stem().unwrap_or_default();
        match name.to_str() {
            Some("pnpm") => Manager::Pnpm,
            Some("bun") => Manager::Bun,
            _ => Manager::Npm,
        }
    }
}

/// Waits until no other bowline changes a folder of packages: npm would mix up what two of it do.
fn lock(folder: &Path) -> Result<Lock, Failure> {
    let path = folder.join("package.json");
    let waited = Lock::acquire(&path, Duration::ZERO).or_else(|_| {
        note(format_args!("Waiting until nothing else is installed in {}", folder.display()));
        Lock::acquire(&path, PATIENCE)
    });
    waited.map_err(Failure::io("locking the folder for packages"))
}

/// Makes the folder that packages are installed into, as pi does.
fn prepare(place: &Place, folder: &Path) -> Result<(), Failure> {
    create(place, folder)?;
    ignore_in_git(folder)?;
    let package = folder.join("package.json");
    if !package.exists() {
        let text = "{\n  \"name\": \"pi-extensions\",\n  \"private\": true\n}\n";
        fs::write(package, text).map_err(Failure::io("writing the package.json for packages"))?;
    }
    Ok(())
}

/// Makes a folder for packages. What is used once is nobody else's business.
pub(super) fn create(place: &Place, folder: &Path) -> Result<(), Failure> {
    let made = match place.scope {
        Scope::Temporary => bowline_files::create_private_folder(folder),
        Scope::User | Scope::Project => fs::create_dir_all(folder),
    };
    made.map_err(Failure::io("making the folder for packages"))
}

/// Keeps the packages of a project out of its repository.
pub(super) fn ignore_in_git(folder: &Path) -> Result<(), Failure> {
    let path = folder.join(".gitignore");
    if path.exists() {
        return Ok(());
    }
    fs::write(path, "*\n!.gitignore\n").map_err(Failure::io("writing the .gitignore for packages"))
}
