//! `bowline install`.

use std::path::PathBuf;
use std::process::ExitCode;

use bowline_core::slash_command::Scope;
use bowline_extension::packages::{Configured, Content, Entry, Installed, Place, Source, installed};

use super::git::Git;
use super::place::{Desk, Wanted, relative};
use super::settings_edit::{Written, edit};
use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::{note, say};

/// Installs a package and adds it to the settings.
pub(super) fn install(desk: &Desk, text: &str, arguments: &Arguments) -> Result<ExitCode, Failure> {
    let wanted = desk.wanted(text)?;
    let scope = match (arguments.local, arguments.temporary) {
        (true, true) => {
            return Err(Failure::Usage("--local and --temporary cannot be used together".to_owned()));
        }
        (true, false) => {
            desk.need_trust()?;
            Scope::Project
        }
        (false, true) => Scope::Temporary,
        (false, false) => Scope::User,
    };
    if let (Source::Local(_), Scope::Temporary) = (&wanted.source, scope) {
        return Err(Failure::Package(format!("{text} needs no installation: --extension {text} uses it")));
    }
    // A package that is named in bowline's own settings is kept beside them.
    let identity = desk.identity(&wanted.source);
    let mut known = desk.configured().into_iter();
    let known = known
        .find(|known| known.place.scope == scope && known.identity(desk.home()) == Some(identity.clone()));
    let place = known.map_or_else(|| desk.place(scope), |known| known.place);
    if scope != Scope::Temporary {
        desk.check_inside(&place, &place.settings())?;
        // Settings that cannot be changed are noticed before anything is installed.
        edit(&place, |_| ())?;
    }
    fetch(desk, &place, &wanted.source)?;
    let entry = written(&wanted, &place);
    let package = find(desk, &place, text, &entry)?;
    if scope != Scope::Temporary {
        let change = |entries: &mut Vec<Written>| add(desk, &place, &identity, &entry, entries);
        edit(&place, change)?;
    }
    tell(&place, text, &package)?;
    Ok(ExitCode::SUCCESS)
}

/// Gets a package to its place, with what it depends on.
pub(super) fn fetch(desk: &Desk, place: &Place, source: &Source) -> Result<(), Failure> {
    match source {
        Source::Npm(npm) => {
            let folder = place.npm_folder();
            desk.check_inside(place, &folder)?;
            note(format_args!("Installing {} in {}", npm.spec(), folder.display()));
            desk.npm.install(place, &[npm.spec()])
        }
        Source::Git(git) => {
            let folder = place.clone_of(git);
            desk.check_inside(place, &folder)?;
            let verb = if folder.is_dir() { "Updating" } else { "Cloning to" };
            note(format_args!("{verb} {}", folder.display()));
            Git { environment: &desk.environment, npm: &desk.npm }.install(place, git)
        }
        Source::Local(_) => {
            let path = place.root_of(source, desk.home());
            if path.exists() {
                return Ok(());
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            Err(Failure::Package(format!(
                "{} does not exist; a package of npm is named npm:{name}",
                path.display()
            )))
        }
    }
}

/// Returns how the settings of a place name a package.
fn written(wanted: &Wanted, place: &Place) -> String {
    match &wanted.source {
        Source::Local(path) => relative(path.as_ref(), &place.folder),
        Source::Npm(_) | Source::Git(_) => wanted.text.clone(),
    }
}

/// Adds an entry, or changes the one about the same package.
fn add(desk: &Desk, place: &Place, identity: &str, source: &str, entries: &mut Vec<Written>) {
    let is_same = |entry: &&mut Written| is_about(desk, place, entry, identity);
    match entries.iter_mut().find(is_same) {
        Some(entry) if entry.source.as_deref() == Some(source) => {}
        Some(entry) => entry.set_source(source),
        None => entries.push(Written::of(source)),
    }
}

/// Tells whether an entry in the settings of a place is about a package.
pub(super) fn is_about(desk: &Desk, place: &Place, entry: &Written, identity: &str) -> bool {
    let source = entry.source.as_deref().and_then(|source| Source::parse(source).ok());
    source.is_some_and(|source| place.identity(&source, desk.home()) == identity)
}

/// Returns what was installed, if it is where it should be.
fn find(desk: &Desk, place: &Place, text: &str, entry: &str) -> Result<Found, Failure> {
    let entry = Entry { source: entry.to_owned(), filter: None };
    let configured = Configured { entry, place: place.clone() };
    let mut packages = installed(&[configured], desk.home());
    let package = packages.swap_remove(0);
    match &package.root {
        Ok(root) => Ok(Found { root: root.path().to_owned(), package }),
        Err(problem) => Err(Failure::Package(format!(
            "{} was installed, but is not where it should be: {problem}",
            Source::shown(text)
        ))),
    }
}

/// A package that was installed.
struct Found {
    root: PathBuf,
    package: Installed,
}

/// Says what was installed, and what it brings along.
fn tell(place: &Place, text: &str, Found { root, package }: &Found) -> Result<(), Failure> {
    let shown = Source::shown(text);
    let content = Content::of(package);
    if content.is_empty() {
        note(format_args!(
            "bowline: {shown} is not a package of pi: it has no extensions, no skills and no prompt templates"
        ));
    }
    let brings = described(package).map(|brings| format!("It brings along {brings}.\n")).unwrap_or_default();
    let how = match place.scope {
        Scope::Temporary => format!("--extension {shown} uses it.\n"),
        Scope::User | Scope::Project => format!("Its entry is in {}.\n", place.settings().display()),
    };
    say(&format!("Installed {shown} in {}.\n{how}{brings}", root.display()))
}

/// Returns how much a package has of each kind, in words; none if it has nothing.
pub(super) fn described(package: &Installed) -> Option<String> {
    let content = Content::of(package);
    let kinds =
        [(content.extensions, "extension"), (content.skills, "skill"), (content.prompts, "prompt template")];
    let parts: Vec<_> = kinds
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}{}", if *count == 1 { "" } else { "s" }))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
