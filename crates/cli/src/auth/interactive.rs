//! `--login`: asks for a provider and its key in a terminal. Editors start it so when their user wants to log in.

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::process::ExitCode;

use bowline_llm::{KeyState, Providers};

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::SettingsFile;
use crate::startup;
use crate::terminal::note;

/// The most that is read of an answer.
const LONGEST: u64 = 4 * 1024;

/// How often a name may be wrong.
const ATTEMPTS: usize = 3;

/// Asks for a provider and its key. The exit code tells whether there is a key at the end.
pub(crate) fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let environment = Environment::read(arguments.working_directory.as_deref())?;
    let file = SettingsFile::of_user(&environment)?;
    let providers = Providers::new(startup::sources(&environment, &file))?;
    let ready: Vec<_> = providers
        .providers_with_keys()?
        .into_iter()
        .filter(|status| status.state == KeyState::Ready)
        .map(|status| status.provider)
        .collect();
    if !ready.is_empty() {
        note(format_args!("There is a key for: {}", ready.join(", ")));
    }
    for _ in 0..ATTEMPTS {
        let name = ask("Provider, such as anthropic, openai or google (nothing: leave it as it is): ")?;
        if name.is_empty() {
            return Ok(if ready.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS });
        }
        match providers.key_status(&name) {
            Ok(status) => return super::set(&providers, &status.provider),
            Err(error) => note(format_args!("{error}")),
        }
    }
    Ok(ExitCode::FAILURE)
}

fn ask(question: &str) -> Result<String, Failure> {
    let failed = || Failure::io("reading the name of the provider");
    eprint!("{question}");
    io::stderr().flush().map_err(failed())?;
    let mut line = String::new();
    io::stdin().lock().take(LONGEST).read_line(&mut line).map_err(failed())?;
    Ok(line.trim().to_owned())
}
