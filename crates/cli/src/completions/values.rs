//! The values that flags can have. Where the name of a value in the help says what it is, nothing else has to.

use bowline_core::ThinkingLevel;
use bowline_core::reply::SessionSummary;
use bowline_core::sandbox::{SandboxMode, SandboxNetwork};
use bowline_llm::Providers;
use bowline_session::{ListQuery, Scope};
use bowline_tools::Options;

use super::position::Position;
use super::{Offer, Paths, Source};
use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::extension;
use crate::flags::{Flag, Takes};
use crate::settings::SettingsFile;
use crate::{startup, toolboxes};

/// How many sessions are offered: the newest of the folder.
const MOST_SESSIONS: usize = 50;

/// Values that are named elsewhere in the program.
const NAMED: &[(&str, Source)] = &[
    ("--dialect", |_| {
        Offer::described(bowline_dialect::DIALECTS.iter().map(|entry| (entry.name, entry.about)))
    }),
    ("--thinking", |_| Offer::of_names(ThinkingLevel::ALL.map(ThinkingLevel::as_str))),
    ("--sandbox", |_| Offer::of_names(SandboxMode::ALL.iter().map(|mode| mode.as_str()))),
    ("--network", |_| Offer::of_names(SandboxNetwork::ALL.iter().map(|network| network.as_str()))),
    ("--lang", |_| Offer::of_names(extension::languages())),
    ("--provider", providers),
    ("--model", models),
    ("--models", models),
    ("--tools", |_| tools()),
    ("--exclude-tools", |_| tools()),
    ("--session", sessions),
    ("--fork", sessions),
    ("--resume", sessions),
    ("--session-id", sessions),
];

/// Flags whose value is a list with commas.
const LISTS: &[&str] = &["--models", "--tools", "--exclude-tools"];

/// Returns the values that a flag can have, and the beginning of the word at the cursor that they follow.
pub(super) fn of_flag<'a>(flag: &Flag, position: &Position, current: &'a str) -> (Offer, &'a str) {
    let (Takes::Value(name) | Takes::Optional(name)) = flag.takes else { return (Offer::nothing(), "") };
    let lead = match current.rfind(',').filter(|_| LISTS.contains(&flag.long)) {
        Some(comma) => &current[..=comma],
        None => "",
    };
    let named = NAMED.iter().find(|(long, _)| *long == flag.long);
    let mut offer = named.map_or_else(Offer::nothing, |(_, offer)| offer(position));
    if flag.long == "--model"
        && let Some((model, _)) = current.rsplit_once(':')
        && offer.candidates.iter().any(|known| known.word == model)
    {
        let levels = ThinkingLevel::ALL.map(|level| format!("{model}:{}", level.as_str()));
        offer.candidates.extend(Offer::of_names(levels).candidates);
    }
    for kind in name.split('|') {
        match kind {
            "FILE" | "PATH" | "PAGE" => offer.paths = Paths::Files,
            "FOLDER" => offer.paths = Paths::Folders,
            _ if is_value(kind) => offer.candidates.extend(Offer::of_names([kind]).candidates),
            _ => {}
        }
    }
    (offer, lead)
}

/// Tells whether a part of the name of a value is a value itself: those are in small letters.
fn is_value(kind: &str) -> bool {
    kind.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-')
}

fn tools() -> Offer {
    Offer::of_names(toolboxes::all(&Options::default()).names().iter().cloned())
}

/// Returns the providers of the known models.
pub(super) fn providers(_: &Position) -> Offer {
    let mut names: Vec<String> = known().map_or_else(Vec::new, |known| {
        known.known_models().iter().map(|model| model.provider.clone()).collect()
    });
    names.dedup();
    Offer::of_names(names)
}

/// Returns the known models that can be used, with a key or without: of one provider, if the command line names it. The first
/// is a script, which nobody has to configure.
pub(super) fn models(position: &Position) -> Offer {
    let Some(known) = known() else { return Offer::nothing() };
    let provider = position.value("--provider");
    let models = known.known_models().into_iter().filter(|model| known.is_supported(model));
    let models = models.filter(|model| provider.is_none_or(|name| model.provider.eq_ignore_ascii_case(name)));
    let described = models.map(|model| match provider {
        Some(_) => (model.id.clone(), model.name.clone()),
        None => (model.full_name(), model.name.clone()),
    });
    let script = ("scripted/demo".to_owned(), "a script, which needs no key".to_owned());
    Offer::described(provider.is_none().then_some(script).into_iter().chain(described))
}

/// Reads what is known of models. A mistake in a file is not reported while somebody types.
fn known() -> Option<Providers> {
    let environment = Environment::read(None).ok()?;
    let file = SettingsFile::of_user(&environment).ok()?;
    Providers::new(startup::sources(&environment, &file)).ok()
}

/// Returns the newest sessions of the folder.
pub(super) fn sessions(position: &Position) -> Offer {
    let described = |session: SessionSummary| {
        let what = session.name.unwrap_or(session.first_message);
        (session.id, what.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    Offer::described(stored_sessions(position).unwrap_or_default().into_iter().map(described))
}

fn stored_sessions(position: &Position) -> Option<Vec<SessionSummary>> {
    let environment = Environment::read(position.value("--cwd")).ok()?;
    let file = SettingsFile::of_user(&environment).ok()?;
    let mut arguments = Arguments::default();
    arguments.session_dir = position.value("--session-dir").map(ToOwned::to_owned);
    let dialect = position.value("--dialect").and_then(bowline_dialect::find);
    let start = &dialect.unwrap_or(&bowline_dialect::DIALECTS[0]).start;
    let store = startup::session_plan(&arguments, &environment, start, &file).store?;
    let scope = Scope::Directory(environment.working_directory);
    Some(store.list(&ListQuery { scope, search: None, cursor: None, limit: MOST_SESSIONS }).ok()?.sessions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::flags;

    #[test]
    fn every_value_that_is_offered_is_accepted() {
        let mut count = 0;
        for flag in flags().filter(|flag| !matches!(flag.takes, Takes::Nothing)) {
            // Sessions and models depend on the machine.
            let is_found = ["--session", "--fork", "--resume", "--session-id"].contains(&flag.long);
            let (offer, _) = of_flag(flag, &Position::default(), "");
            for candidate in offer.candidates.into_iter().filter(|_| !is_found) {
                let mut arguments = Arguments::default();
                let applied = (flag.apply)(&mut arguments, candidate.word.clone());
                assert!(applied.is_ok() && arguments.warnings.is_empty(), "{} {}", flag.long, candidate.word);
                count += 1;
            }
        }
        assert!(count > 60, "only {count} values");
    }

    #[test]
    fn every_flag_with_a_choice_of_names_offers_them() {
        for flag in flags() {
            let (Takes::Value(name) | Takes::Optional(name)) = flag.takes else { continue };
            if ["MODE", "LEVEL", "LANGUAGE"].contains(&name) {
                let (offer, _) = of_flag(flag, &Position::default(), "");
                assert!(!offer.candidates.is_empty(), "{} has no values to offer", flag.long);
            }
        }
        for (long, _) in NAMED {
            assert!(flags().any(|flag| flag.long == *long), "{long}");
        }
    }

    #[test]
    fn a_thinking_level_may_follow_a_model() {
        let model = super::super::position::find("--model").unwrap();
        let position = Position::default();
        let (all, _) = of_flag(model, &position, "");
        let named = format!("{}:", all.candidates[0].word);
        let (offer, _) = of_flag(model, &position, &named);
        let levels = offer.candidates.iter().filter(|known| known.word.starts_with(&named)).count();
        assert_eq!(levels, ThinkingLevel::ALL.len());
    }
}
