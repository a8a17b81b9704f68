//! `bowline remove`.

use std::path::Path;
use std::process::ExitCode;

use bowline_core::slash_command::Scope;
use bowline_extension::packages::{Configured, Place, Source};

use super::git::Git;
use super::install::is_about;
use super::place::Desk;
use super::settings_edit::edit;
use crate::failure::Failure;
use crate::terminal::say;

/// Removes a package and its entries.
pub(super) fn remove(desk: &Desk, text: &str, is_local: bool) -> Result<ExitCode, Failure> {
    if is_local {
        desk.need_trust()?;
    }
    let scope = if is_local { Scope::Project } else { Scope::User };
    let wanted = desk.wanted(text)?;
    let identity = desk.identity(&wanted.source);
    let configured: Vec<_> =
        desk.configured().into_iter().filter(|known| known.place.scope == scope).collect();
    let is_wanted = |known: &&Configured| known.identity(desk.home()).as_ref() == Some(&identity);
    let found: Vec<_> = configured.iter().filter(is_wanted).collect();
    if found.is_empty() {
        return Err(not_configured(text, &configured, is_local));
    }
    let mut places: Vec<&Place> = found.iter().map(|known| &known.place).collect();
    places.dedup();
    for place in places {
        desk.check_inside(place, &place.settings())?;
        uninstall(desk, place, &wanted.source)?;
        edit(place, |entries| entries.retain(|entry| !is_about(desk, place, entry, &identity)))?;
    }
    say(&format!("Removed {}.\n", Source::shown(text)))?;
    Ok(ExitCode::SUCCESS)
}

fn uninstall(desk: &Desk, place: &Place, source: &Source) -> Result<(), Failure> {
    let root = place.root_of(source, desk.home());
    match source {
        Source::Local(_) => Ok(()),
        _ if !root.is_dir() => Ok(()),
        Source::Npm(npm) => {
            desk.check_inside(place, &root)?;
            desk.npm.uninstall(place, &npm.name)
        }
        Source::Git(git) => {
            desk.check_inside(place, &root)?;
            let is_below = |path: &Path| path != root && path.starts_with(&root);
            let configured = desk.configured();
            let mut roots = configured.iter().filter_map(|known| {
                let source = Source::parse(&known.entry.source).ok()?;
                Some(known.place.root_of(&source, desk.home()))
            });
            if let Some(other) = roots.find(|path| is_below(path) && path.exists()) {
                return Err(Failure::Package(format!(
                    "the package in {} has another one in it: remove {} first",
                    root.display(),
                    other.display()
                )));
            }
            Git::remove(place, git)
        }
    }
}

/// Says that no settings name a package, and which they may mean.
pub(super) fn not_configured(text: &str, configured: &[Configured], is_local: bool) -> Failure {
    let same_name = |known: &&Configured| match Source::parse(&known.entry.source) {
        Ok(Source::Npm(npm)) => npm.name == text || npm.spec() == text,
        Ok(Source::Git(git)) => git.path.ends_with(text) || format!("{}/{}", git.host, git.path) == text,
        Ok(Source::Local(_)) | Err(_) => false,
    };
    let meant = configured.iter().find(same_name).map(|known| &known.entry.source);
    let hint = meant.map(|meant| format!("; did you mean {}?", Source::shown(meant))).unwrap_or_default();
    let whose = if is_local { "of this project" } else { "of yours" };
    Failure::Package(format!("no settings {whose} name {}{hint} (see bowline list)", Source::shown(text)))
}
