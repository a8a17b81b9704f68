//! The findings as text for people, and as JSON.

use std::fmt::Write as _;
use std::io::IsTerminal as _;

use serde_json::json;

use super::facts::Facts;
use super::finding::{Finding, State};
use crate::failure::Failure;
use crate::terminal::{columns, hanging, plain, plain_line, say, say_exactly};

/// The width of the text if there is no terminal, and the greatest one: longer lines are hard to read.
const WIDTH: usize = 100;

/// Where the findings begin.
const COLUMN: usize = 22;

/// Shows the findings, each with the name of its check.
pub(super) fn show(facts: &Facts, findings: &[(&str, Finding)]) -> Result<(), Failure> {
    if facts.arguments.json {
        let lines = findings.iter().map(|(name, finding)| {
            let meaning = Some(&finding.meaning).filter(|meaning| !meaning.is_empty());
            let record = json!({
                "check": name, "state": finding.state.as_str(), "what": finding.what, "meaning": meaning,
                "commands": finding.remedies,
            });
            format!("{record}\n")
        });
        return say(&lines.collect::<String>());
    }
    let in_colour = std::io::stdout().is_terminal() && facts.environment.variable("NO_COLOR").is_none();
    say_exactly(&text(findings, columns().unwrap_or(WIDTH).clamp(60, WIDTH), in_colour))
}

fn text(findings: &[(&str, Finding)], width: usize, in_colour: bool) -> String {
    let mut text = String::new();
    let mut last = "";
    for (name, finding) in findings {
        let shown_name = if last == *name { "" } else { name };
        last = name;
        let _ = write!(text, "{}  {shown_name:<12}  ", painted(finding.state, in_colour));
        // Some texts are a list, with a line for each entry.
        for (index, line) in finding.what.lines().chain(finding.meaning.lines()).enumerate() {
            if index > 0 {
                text.push_str(&" ".repeat(COLUMN));
            }
            hanging(&mut text, &plain_line(line), COLUMN, width);
        }
        for command in &finding.remedies {
            // Not broken into lines, so that it can be copied.
            let _ = writeln!(text, "{}$ {}", " ".repeat(COLUMN), plain(command));
        }
    }
    let count = |state| findings.iter().filter(|(_, finding)| finding.state == state).count();
    let (broken, look) = (count(State::Broken), count(State::Look));
    let verdict = match (broken, look) {
        (0, 0) => "Everything is fine.".to_owned(),
        (0, look) => format!("Nothing is broken; {look} to look at."),
        (broken, look) => format!("{broken} broken, {look} to look at."),
    };
    let _ = write!(text, "\n{verdict}");
    if broken + look > 0 {
        text.push_str(" Lines that begin with $ are commands to type.");
    }
    text.push('\n');
    text
}

/// Returns a state, six columns wide.
fn painted(state: State, in_colour: bool) -> String {
    let name = format!("{:<6}", state.as_str());
    if !in_colour {
        return name;
    }
    let colour = match state {
        State::Fine => 32,
        State::Look => 33,
        State::Broken => 31,
    };
    format!("\u{1b}[{colour}m{name}\u{1b}[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_lined_up_and_commands_stay_whole() {
        let command = "bowline auth set --provider some-provider-with-a-long-name --and more";
        let findings = [
            ("program", Finding::fine("bowline is here")),
            (
                "models",
                Finding::broken("No model can be used.\u{1b}[2J")
                    .because("A prompt is refused.")
                    .remedy(command),
            ),
            ("models", Finding::look("one two three four five six seven eight nine ten\n  - eleven")),
        ];
        let expected = format!(
            "\
fine    program       bowline is here
broken  models        No model can be used.\\u001b[2J
                      A prompt is refused.
                      $ {command}
look                  one two three four five six seven
                      eight nine ten
                      - eleven

1 broken, 1 to look at. Lines that begin with $ are commands to type.
"
        );
        assert_eq!(text(&findings, 60, false), expected);
        assert!(text(&findings[..1], 60, true).contains("\u{1b}[32mfine  \u{1b}[0m"));
        assert!(text(&findings[..1], 60, false).ends_with("\nEverything is fine.\n"));
    }
}
