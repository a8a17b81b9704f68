//! `bowline completions`: what the shells complete on command lines of bowline. The script for a shell only asks the installed
//! bowline what may stand at the cursor (`bowline completions words`), so it never differs from what bowline understands.

mod position;
mod values;
mod words;

use position::Position;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::subcommands;
use crate::terminal::say_exactly;

pub(crate) const USAGE: &str = "\
bowline completions bash               print the script for bash
bowline completions zsh                print the script for zsh
bowline completions fish               print the script for fish
bowline completions words -- WORD...   print what may stand for the last word; the scripts ask this

bash: bowline completions bash > ~/.local/share/bash-completion/completions/bowline
zsh:  bowline completions zsh > _bowline, in a folder of fpath
fish: bowline completions fish > ~/.config/fish/completions/bowline.fish
";

/// The scripts by the name of their shell.
const SCRIPTS: &[(&str, &str)] = &[
    ("bash", include_str!("scripts/bowline.bash")),
    ("zsh", include_str!("scripts/bowline.zsh")),
    ("fish", include_str!("scripts/bowline.fish")),
];

/// Prints a script, or what it asks for.
pub(crate) fn main(arguments: &Arguments) -> Result<(), Failure> {
    let verb = arguments.words.first().map(String::as_str);
    match (verb, SCRIPTS.iter().find(|(shell, _)| Some(*shell) == verb)) {
        (_, Some((_, script))) => say_exactly(script),
        (Some("words"), None) => {
            say_exactly(&words::at_cursor(arguments.command.as_deref().unwrap_or_default()))
        }
        _ => {
            let shells: Vec<_> = SCRIPTS.iter().map(|(shell, _)| *shell).collect();
            let text = format!("which shell? bowline completions {}", shells.join("|"));
            Err(Failure::Usage(text))
        }
    }
}

/// Something that may stand at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    word: String,
    about: String,
}

/// What else may stand there, which the shell knows itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paths {
    None,
    Files,
    Folders,
}

/// All that may stand at the cursor, before it is narrowed to what begins like the word there.
#[derive(Debug)]
struct Offer {
    candidates: Vec<Candidate>,
    paths: Paths,
}

/// Finds out what may stand at the cursor.
type Source = fn(&Position) -> Offer;

impl Offer {
    fn nothing() -> Self {
        Self::of_paths(Paths::None)
    }

    fn of_paths(paths: Paths) -> Self {
        Self { candidates: Vec::new(), paths }
    }

    fn of_names(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::described(names.into_iter().map(|name| (name, "")))
    }

    fn described(named: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) -> Self {
        let candidate =
            |(word, about): (_, _)| Candidate { word: Into::into(word), about: Into::into(about) };
        Self { candidates: named.into_iter().map(candidate).collect(), paths: Paths::None }
    }

    fn or_paths(self, paths: Paths) -> Self {
        Self { paths, ..self }
    }

    /// Returns the topics of the help and of the manual.
    fn topics() -> Self {
        let subcommands =
            subcommands::SUBCOMMANDS.iter().map(|subcommand| (subcommand.name, subcommand.about));
        Self::described(subcommands.chain([("settings", "the settings")]))
    }
}
