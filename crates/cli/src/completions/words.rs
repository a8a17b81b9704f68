//! What may stand at the cursor.

use std::fmt::Write as _;

use super::position::{Position, find};
use super::values::{of_flag, providers, sessions};
use super::{Candidate, Offer, Paths, Source};
use crate::arguments::{LISTING, REPEATABLE};
use crate::flags::{Flag, Group, flags};
use crate::subcommands::SUBCOMMANDS;
use crate::terminal::plain_line;

/// The longest description, in characters: a list of candidates is read at a glance.
const LONGEST_ABOUT: usize = 80;

/// What the words after a subcommand are, where they are no free text. The verb is empty where there is none.
const WORDS: &[(&str, &str, Source)] = &[
    ("sessions", "show", sessions_or_files),
    ("sessions", "rm", sessions_or_files),
    ("sessions", "undo", sessions_or_files),
    ("sessions", "fsck", sessions_or_files),
    ("export", "", sessions_or_files),
    ("auth", "login", providers),
    ("auth", "remove", providers),
    ("auth", "check", providers),
    ("extension", "check", |_| Offer::of_paths(Paths::Files)),
    ("install", "", |_| Offer::of_names(["npm:", "git:"]).or_paths(Paths::Folders)),
    ("trust", "", |_| Offer::of_paths(Paths::Folders)),
    ("schema", "", |_| Offer::of_names(["extension"])),
    ("help", "", |_| Offer::topics()),
    ("man", "", |_| Offer::topics()),
];

/// Returns what may stand for the last of these words, which follow the name of the program: a line that says which paths may
/// (`files`, `folders` or `none`), and a line per candidate, with its description after a tab.
pub(super) fn at_cursor(words: &[String]) -> String {
    let Some((current, before)) = words.split_last() else { return String::new() };
    let (offer, lead) = offer(before, current);
    let mut text = match offer.paths {
        Paths::None => "none\n",
        Paths::Files => "files\n",
        Paths::Folders => "folders\n",
    }
    .to_owned();
    for Candidate { word, about } in offer.candidates {
        let word = format!("{lead}{word}");
        if word.starts_with(current.as_str()) && is_harmless(&word) {
            let about: String = plain_line(&about).chars().take(LONGEST_ABOUT).collect();
            let _ = writeln!(text, "{word}\t{about}");
        }
    }
    text
}

/// Returns what may stand at the cursor, and the beginning of the word there that every candidate follows.
fn offer<'a>(before: &[String], current: &'a str) -> (Offer, &'a str) {
    let position = Position::after(before);
    if let Some(flag) = position.flag {
        return of_flag(flag, &position, current);
    }
    if position.after_dashes {
        let has_command = position.subcommand.is_some_and(|subcommand| subcommand.takes_command());
        return (Offer::of_paths(if has_command { Paths::Files } else { Paths::None }), "");
    }
    if let Some((name, value)) = current.split_once('=')
        && let Some(flag) = find(name)
    {
        let (offer, lead) = of_flag(flag, &position, value);
        return (offer, &current[..=name.len() + lead.len()]);
    }
    if current.starts_with('-') {
        let fitting = flags().filter(|flag| fits(flag, &position));
        return (Offer::described(fitting.map(|flag| (flag.long, flag.about))), "");
    }
    (word(&position), "")
}

/// Tells whether a flag has an effect at the cursor.
fn fits(flag: &Flag, position: &Position) -> bool {
    if position.used.contains(&flag.long) && !REPEATABLE.contains(&flag.long) {
        return false;
    }
    match position.subcommand {
        Some(subcommand) => subcommand.has_flag_with(flag.long, position.verb),
        None if position.used.contains(&"--list-models") => LISTING.contains(&flag.long),
        None => flag.group != Group::Subcommand || flag.long == "--list-models",
    }
}

/// Returns the words that may stand at the cursor.
fn word(position: &Position) -> Offer {
    let Some(subcommand) = position.subcommand else {
        // A file is attached to a message as @FILE, which shells do not complete.
        return match position.has_mode || position.used.contains(&"--list-models") {
            true => Offer::nothing(),
            false => {
                Offer::described(SUBCOMMANDS.iter().map(|subcommand| (subcommand.name, subcommand.about)))
            }
        };
    };
    if position.verb.is_none() && position.further_words == 0 && !subcommand.verbs.is_empty() {
        return Offer::of_names(subcommand.verbs.iter().map(|verb| verb.name));
    }
    if position.verb.is_some_and(|verb| position.further_words >= verb.most_words) {
        return Offer::nothing();
    }
    let verb = position.verb.map_or("", |verb| verb.name);
    let row = WORDS.iter().find(|(name, of, _)| *name == subcommand.name && *of == verb);
    row.map_or_else(Offer::nothing, |(_, _, offer)| offer(position))
}

fn sessions_or_files(position: &Position) -> Offer {
    sessions(position).or_paths(Paths::Files)
}

/// Tells whether a shell takes a word as it is. Some come from files, and bash inserts them without quotes.
fn is_harmless(word: &str) -> bool {
    let is_harmless = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@+,=%".contains(letter);
    word.chars().all(is_harmless)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the candidates without their descriptions, after the line about paths.
    fn offered(line: &str) -> Vec<String> {
        let words: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
        let text = at_cursor(&words);
        text.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
    }

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        assert_eq!(offered(line), expected, "{line}");
    }

    #[test]
    fn subcommands_verbs_and_flags_are_offered_where_they_have_an_effect() {
        check("se", &["none", "sessions"]);
        check("--no-session se", &["none", "sessions"]);
        check("-p se", &["none"]);
        check("-p -- se", &["none"]);
        check("--mode rpc se", &["none"]);
        check("auth ", &["none", "list", "set", "login", "remove", "check"]);
        check("auth check --on", &["none", "--online"]);
        check("auth list --on", &["none"]);
        check("sessions --re", &["none", "--repair"]);
        check("sessions list --re", &["none"]);
        check("--re", &["none", "--record", "--replay-loose", "--resume"]);
        check("--list-models --o", &["none", "--offline"]);
        check("chat --tool", &["none", "--tools"]);
        check("acp --tool", &["none", "--tools"]);
        check("extension new one --l", &["none", "--lang"]);
        check("mcp test --jso", &["none", "--json"]);
    }

    #[test]
    fn a_flag_is_offered_again_only_if_it_may_be_repeated() {
        check("--model x --model", &["none", "--models"]);
        check("--skill x --ski", &["none", "--skill", "--skills"]);
    }

    #[test]
    fn values_follow_a_flag_in_either_spelling() {
        check("--thinking m", &["none", "minimal", "medium", "max"]);
        check("--thinking=m", &["none", "--thinking=minimal", "--thinking=medium", "--thinking=max"]);
        check("--ask ", &["none", "never", "on-request", "untrusted"]);
        check("--tools read,gr", &["none", "read,grep"]);
        check("--tools=read,gr", &["none", "--tools=read,grep"]);
        check("--system ", &["files"]);
        check("--writable=", &["folders"]);
        check("--max-turns ", &["none"]);
        check("--output stream", &["none", "stream-json"]);
        check("--lang=ty", &["none", "--lang=typescript"]);
    }

    #[test]
    fn words_after_a_subcommand_are_of_its_kind() {
        check("trust ", &["folders"]);
        check("help sess", &["none", "sessions"]);
        check("help sett", &["none", "settings"]);
        check("sandbox run -- g", &["files"]);
        check("demo ", &["none"]);
        check("extension new ", &["none"]);
        check("mcp list ", &["none"]);
    }

    #[test]
    fn whatever_stands_before_the_cursor_is_no_error() {
        for line in [
            "",
            "-",
            "--",
            "--=",
            "=x",
            "- -",
            "--model",
            "--print= --print",
            "uninstall x ",
            "-p @ ",
            "\u{1b} ",
        ] {
            let offered = offered(line);
            assert!(["none", "files", "folders"].contains(&offered[0].as_str()), "{line}: {offered:?}");
        }
        assert_eq!(at_cursor(&[]), "");
    }

    #[test]
    fn words_that_a_shell_would_read_differently_are_left_out() {
        for word in ["a b", "$(x)", "`x`", "a;b", "a'b", "a\"b", "a\\b", "é", "a\nb", "a|b", "~", "*", "!x"]
        {
            assert!(!is_harmless(word), "{word}");
        }
        assert!(is_harmless("amazon-bedrock/us.anthropic.claude-v1:0"));
    }

    #[test]
    fn the_table_of_words_names_subcommands_that_take_words() {
        for (name, verb, _) in WORDS {
            let subcommand = SUBCOMMANDS.iter().find(|subcommand| subcommand.name == *name).unwrap();
            assert!(subcommand.takes_words, "{name}");
            let takes_some = |known: &&crate::subcommands::Verb| known.name == *verb && known.most_words > 0;
            assert!(verb.is_empty() == subcommand.verbs.is_empty(), "{name} {verb}");
            assert!(
                verb.is_empty() || subcommand.verbs.iter().any(|known| takes_some(&known)),
                "{name} {verb}"
            );
        }
    }
}
