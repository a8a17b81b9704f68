//! The keys of providers and the logins to them, none of which is ever shown.

use std::time::Duration;

use bowline_llm::{KeyState, KeyStatus, Providers};
use bowline_tools::BoxFuture;

use crate::doctor::facts::Facts;
use crate::doctor::finding::Finding;
use crate::online_check;

/// How long a provider may take to answer.
const LONGEST_ANSWER: Duration = Duration::from_secs(20);

pub(in crate::doctor) fn check(facts: &Facts) -> BoxFuture<'_, Vec<Finding>> {
    Box::pin(async move {
        let Ok(providers) = &facts.providers else {
            return vec![Finding::look("not checked, because the models cannot be read")];
        };
        let statuses = match providers.providers_with_keys() {
            Ok(statuses) => statuses,
            Err(error) => return vec![Finding::broken(error.to_string())],
        };
        let warnings = providers.warnings().into_iter();
        // The text ends with the command.
        let mut findings: Vec<_> = warnings
            .map(|warning| match warning.split_once(" Change that with: ") {
                Some((what, command)) => Finding::look(what).remedy(command),
                None => Finding::look(warning),
            })
            .collect();
        findings.extend(statuses.iter().filter_map(of_status));
        let ready = statuses.into_iter().filter(|status| status.state == KeyState::Ready);
        let (mut with_key, without): (Vec<_>, Vec<_>) = ready.partition(|status| status.source.is_some());
        if !with_key.is_empty() {
            let named: Vec<_> = with_key.iter().map(described).collect();
            findings.push(Finding::fine(format!("there are keys for {}", named.join(", "))));
        } else if findings.is_empty() {
            let finding = Finding::look("there is no key of any provider");
            let finding = finding.because("A model server on this machine needs none.");
            findings.push(finding.remedy("bowline auth set --provider anthropic"));
        }
        if !without.is_empty() {
            let named: Vec<_> = without.iter().map(|status| status.provider.as_str()).collect();
            findings.push(Finding::fine(format!("no key is needed for {}", named.join(", "))));
        }
        if facts.arguments.online {
            let answers = with_key.iter_mut().map(|status| ask(providers, status));
            findings.extend(futures_util::future::join_all(answers).await);
        }
        findings
    })
}

/// Returns what is wrong with a key.
fn of_status(status: &KeyStatus) -> Option<Finding> {
    let provider = &status.provider;
    let note =
        status.note.clone().unwrap_or_else(|| format!("the key of {provider} is {}", status.state.as_str()));
    let (finding, command) = match status.state {
        KeyState::Ready => return None,
        KeyState::Missing => (Finding::look(note), "set --provider"),
        KeyState::Invalid => (Finding::broken(note), "set --provider"),
        KeyState::Expired => (Finding::broken(note), "login"),
    };
    let finding = finding.because(format!("Models of {provider} cannot be used."));
    Some(finding.remedy(format!("bowline auth {command} {provider}")))
}

fn described(status: &KeyStatus) -> String {
    let source = status.variable.as_deref().or(status.source).unwrap_or_default();
    let what = if status.is_login { ", a login" } else { "" };
    format!("{} ({source}{what})", status.provider)
}

async fn ask(providers: &Providers, status: &mut KeyStatus) -> Finding {
    let provider = status.provider.clone();
    let asked = online_check::ask(providers, status, None);
    match tokio::time::timeout(LONGEST_ANSWER, asked).await {
        Ok(Ok(answer)) if answer.error.is_none() => {
            Finding::fine(format!("{provider} accepts the key: {answer}"))
        }
        Ok(Ok(answer)) => Finding::broken(format!("{provider}: {answer}"))
            .remedy(format!("bowline auth check --online --provider {provider}")),
        Ok(Err(failure)) => Finding::look(format!("{provider}: {failure}")),
        Err(_) => Finding::broken(format!("{provider} did not answer within {} s", LONGEST_ANSWER.as_secs())),
    }
}
