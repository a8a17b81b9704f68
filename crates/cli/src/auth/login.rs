//! `bowline auth login`: an extension logs the user in to its provider.

use std::process::ExitCode;

use bowline_llm::{LoginFailure, Providers};
use bowline_server::Interruption;

use super::dialogs::Dialogs;
use super::extensions::Desk;
use crate::failure::Failure;
use crate::signals;
use crate::terminal::{note, say};

/// Logs the user in to a provider. The exit code is 130 if they interrupt it.
pub(super) fn log_in(desk: &Desk<'_>, provider: Option<&str>) -> Result<ExitCode, Failure> {
    crate::blocking::block_on(run(desk, provider))?
}

async fn run(desk: &Desk<'_>, provider: Option<&str>) -> Result<ExitCode, Failure> {
    let (mut signals, _watch) = signals::listen().map_err(Failure::io("listening for signals"))?;
    let Some((mut extensions, providers)) = desk.start()? else {
        return Err(Failure::Usage(nothing(provider, &[])));
    };
    let mut dialogs = Dialogs::default();
    extensions.become_ready(|input| dialogs.take(input)).await;
    let logins = logins(&providers)?;
    let named = provider.and_then(|name| logins.iter().find(|(id, _)| id.eq_ignore_ascii_case(name)));
    let Some((id, name)) = named else {
        let problem = refusal(&providers, provider, &logins);
        extensions.stop().await;
        return Err(problem);
    };
    let result = {
        let mut work = std::pin::pin!(providers.log_in(id));
        loop {
            tokio::select! {
                biased;
                result = &mut work => break Ok(result),
                interruption = signals.recv() => break Err(interruption),
                input = extensions.next() => dialogs.take(input),
                () = dialogs.advance() => {}
            }
        }
    };
    extensions.stop().await;
    match result {
        Ok(Ok(())) => {
            say(&format!("Logged in to {id} ({name}). The login is in auth.json.\n"))?;
            Ok(ExitCode::SUCCESS)
        }
        Ok(Err(failure)) => {
            note(format_args!("bowline: {failure}"));
            Ok(ExitCode::FAILURE)
        }
        Err(interruption) => {
            note(format_args!("\nbowline: {}", LoginFailure::Cancelled));
            Ok(ExitCode::from(match interruption {
                Some(Interruption::Stop(code) | Interruption::Abort { exit_code: code }) => code,
                None => 130,
            }))
        }
    }
}

/// Returns the providers that the user can log in to, with what the logins are called.
fn logins(providers: &Providers) -> Result<Vec<(String, String)>, Failure> {
    let all = providers.login_providers()?.into_iter();
    let with_login = all.filter(|provider| providers.provider_login(&provider.id).is_ok());
    Ok(with_login.map(|provider| (provider.id, provider.name)).collect())
}

/// Returns why there is no login to carry out.
fn refusal(providers: &Providers, provider: Option<&str>, logins: &[(String, String)]) -> Failure {
    let known = providers.known_providers();
    match provider.and_then(|name| known.iter().find(|known| known.eq_ignore_ascii_case(name))) {
        Some(known) => match providers.provider_login(known) {
            Err(failure) => Failure::Usage(failure.to_string()),
            Ok(_) => Failure::Usage(nothing(provider, logins)),
        },
        None => Failure::Usage(nothing(provider, logins)),
    }
}

fn nothing(provider: Option<&str>, logins: &[(String, String)]) -> String {
    let listed: Vec<_> = logins.iter().map(|(id, name)| format!("{id} ({name})")).collect();
    let there_are = match listed.is_empty() {
        true => "no extension has a login; name one with --extension, or store a key: bowline auth set --provider NAME".to_owned(),
        false => format!("there are {}", listed.join(", ")),
    };
    match provider {
        Some(provider) => format!("no extension has a login to a provider \"{provider}\": {there_are}"),
        None => format!("which provider? bowline auth login NAME; {there_are}"),
    }
}
