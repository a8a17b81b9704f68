//! What a check found, as text and as JSON.

use std::time::Duration;

use bowline_extension_host::{Direction, Found};
use serde_json::{Value, json};

use super::trial::{Line, Trial};
use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::{plain_line, say};

/// The longest value that is shown in a line, in characters.
const LONGEST_VALUE: usize = 100;

/// The most records of an extension that are shown of one step.
const MOST_RECORDS: usize = 8;

/// What a check found.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// One line per extension: its name, where it is, and what it registers.
    heads: Vec<Head>,
    pub steps: Vec<Step>,
    pub problems: Vec<String>,
}

#[derive(Debug)]
struct Head {
    /// How many steps came before it.
    steps_before: usize,
    name: String,
    version: Option<String>,
    path: String,
    registered: Option<Value>,
    took: Duration,
}

/// Something that was tried.
#[derive(Debug)]
pub(super) struct Step {
    kind: &'static str,
    name: String,
    sample: Value,
    took: Duration,
    verdict: Verdict,
    /// What the extension sent besides the answer.
    records: Vec<Value>,
    lines: Vec<Line>,
}

/// How it went.
#[derive(Debug)]
pub(super) enum Verdict {
    /// With this result; `null` means none.
    Answered(Value),
    /// The extension was told, and does not answer.
    Told,
    /// A tool or command failed, which may be right.
    Failed(String),
    /// It took too long and was cancelled, which may be right.
    Cancelled,
    /// That must not be.
    Wrong(String),
}

impl Step {
    pub fn new(
        kind: &'static str,
        name: &str,
        sample: Value,
        took: Duration,
        verdict: Verdict,
        lines: &[Line],
    ) -> Self {
        let responses = lines.iter().filter(|line| line.direction == Direction::ToExtension);
        let responses: Vec<_> =
            responses.filter_map(Line::record).filter(|record| record["type"] == "response").collect();
        let sent = lines.iter().filter(|line| line.direction == Direction::FromExtension);
        let mut records: Vec<_> =
            sent.filter_map(Line::record).filter(|record| record["type"] != "result").collect();
        for request in records.iter_mut().filter(|record| record["type"] == "request") {
            if let Some(response) = responses.iter().find(|response| response["id"] == request["id"]) {
                request["response"] = response.clone();
            }
        }
        Self { kind, name: name.to_owned(), sample, took, verdict, records, lines: lines.to_vec() }
    }

    /// Tells whether the extension opened a dialog.
    pub fn has_asked_the_user(&self) -> bool {
        self.records
            .iter()
            .any(|record| record["type"] == "request" && text_of(&record["method"]).starts_with("ui."))
    }

    fn is_wrong(&self) -> bool {
        matches!(self.verdict, Verdict::Wrong(_))
    }

    /// Returns what the step was about, in a few words.
    fn subject(&self) -> String {
        match self.kind {
            "hook" => match (self.sample["toolName"].as_str(), self.sample.get("input")) {
                (Some(tool), Some(input)) => format!("{} {tool} {}", self.name, short(input)),
                (Some(tool), None) => format!("{} {tool}", self.name),
                _ => self.name.clone(),
            },
            _ => format!("{} {}", self.name, short(&self.sample)),
        }
    }

    fn text(&self, is_verbose: bool) -> String {
        let outcome = match &self.verdict {
            Verdict::Answered(Value::Null) if self.kind == "command" => "done".to_owned(),
            Verdict::Answered(Value::Null) => "no result".to_owned(),
            Verdict::Answered(result) => short(result),
            Verdict::Told => "told".to_owned(),
            Verdict::Failed(problem) => format!("failed: {problem}"),
            Verdict::Cancelled => "still running; cancelled".to_owned(),
            Verdict::Wrong(problem) => format!("WRONG: {problem}"),
        };
        let took = match self.verdict {
            Verdict::Told => String::new(),
            _ => milliseconds(self.took),
        };
        let mut text = format!("  {:<46} {took:>9}  {}\n", plain_line(&self.subject()), plain_line(&outcome));
        if is_verbose {
            for line in &self.lines {
                let arrow = match line.direction {
                    Direction::ToExtension => "<-",
                    Direction::FromExtension => "->",
                };
                text.push_str(&format!("      {arrow} {}\n", plain_line(&line.text)));
            }
            return text;
        }
        for record in self.records.iter().take(MOST_RECORDS) {
            text.push_str(&format!("      {}\n", plain_line(&told(record))));
        }
        if self.records.len() > MOST_RECORDS {
            text.push_str(&format!("      … and {} more\n", self.records.len() - MOST_RECORDS));
        }
        text
    }

    fn json(&self) -> Value {
        let mut record = json!({
            "type": self.kind,
            "name": self.name,
            "sample": self.sample,
            "milliseconds": self.took.as_secs_f64() * 1000.0,
            "records": self.records,
        });
        let (outcome, value) = match &self.verdict {
            Verdict::Answered(result) => ("result", result.clone()),
            Verdict::Told => ("told", true.into()),
            Verdict::Failed(problem) => ("failed", problem.as_str().into()),
            Verdict::Cancelled => ("cancelled", true.into()),
            Verdict::Wrong(problem) => ("wrong", problem.as_str().into()),
        };
        record[outcome] = value;
        record
    }
}

impl Report {
    /// Begins the part of an extension.
    pub fn begin(&mut self, path: &str, found: Option<&Found>, registered: Option<&Value>, took: Duration) {
        let said = |field: &str| Some(registered?[field].as_str()?.to_owned());
        self.heads.push(Head {
            steps_before: self.steps.len(),
            name: said("name").or_else(|| Some(found?.name.clone())).unwrap_or_else(|| path.to_owned()),
            version: said("version").or_else(|| found?.version.clone()),
            path: path.to_owned(),
            registered: registered.cloned(),
            took,
        });
    }

    /// Adds what the client of a session would be told of.
    pub fn add_problems(&mut self, trial: &mut Trial) {
        for problem in trial.take_problems() {
            self.problems.push(format!("{}: {}", problem.event, problem.error));
        }
    }

    /// Tells whether nothing is wrong.
    pub fn is_fine(&self) -> bool {
        self.problems.is_empty() && !self.heads.is_empty() && !self.steps.iter().any(Step::is_wrong)
    }

    /// Shows the report.
    pub fn show(&self, arguments: &Arguments) -> Result<(), Failure> {
        say(&if arguments.json { self.json() } else { self.text(arguments.verbose) })
    }

    fn json(&self) -> String {
        let mut lines = String::new();
        for head in &self.heads {
            let offered = head.registered.as_ref().map(|registered| registered["extensions"][0].clone());
            let shown = json!({
                "type": "extension", "name": head.name, "version": head.version, "path": head.path,
                "milliseconds": head.took.as_secs_f64() * 1000.0, "registered": offered,
            });
            lines.push_str(&format!("{shown}\n"));
        }
        for step in &self.steps {
            lines.push_str(&format!("{}\n", step.json()));
        }
        let wrong = self.steps.iter().filter(|step| step.is_wrong()).count();
        let end = json!({ "type": "end", "fine": self.is_fine(), "wrong": wrong, "problems": self.problems });
        lines + &format!("{end}\n")
    }

    fn text(&self, is_verbose: bool) -> String {
        let mut text = String::new();
        let ends = self.heads.iter().skip(1).map(|head| head.steps_before).chain([self.steps.len()]);
        for (head, end) in self.heads.iter().zip(ends) {
            text.push_str(&head.text());
            let mut kind = "";
            for step in &self.steps[head.steps_before..end] {
                if step.kind != kind {
                    kind = step.kind;
                    text.push_str(&format!("\n{kind}s\n"));
                }
                text.push_str(&step.text(is_verbose));
            }
            text.push('\n');
        }
        if self.is_fine() {
            let count = |kind: &str| self.steps.iter().filter(|step| step.kind == kind).count();
            let tried =
                [("hook", "events"), ("tool", "tools"), ("command", "commands"), ("provider", "providers")];
            let tried = tried.map(|(kind, name)| format!("{} {name}", count(kind))).join(", ");
            text.push_str(&format!("Nothing is wrong. Tried: {tried}.\n"));
            return text;
        }
        text.push_str("What is wrong:\n");
        for step in self.steps.iter().filter(|step| step.is_wrong()) {
            if let Verdict::Wrong(problem) = &step.verdict {
                text.push_str(&format!("  {}: {}\n", plain_line(&step.subject()), plain_line(problem)));
            }
        }
        for problem in &self.problems {
            text.push_str(&format!("  {}\n", plain_line(problem)));
        }
        if self.heads.is_empty() && self.problems.is_empty() {
            text.push_str("  there is no extension\n");
        }
        text
    }
}

impl Head {
    fn text(&self) -> String {
        let version = self.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        let mut text =
            format!("{}{}  {}\n", plain_line(&self.name), plain_line(&version), plain_line(&self.path));
        let Some(registered) = &self.registered else {
            return text + "it has not registered\n";
        };
        text.push_str(&format!("registered in {}", milliseconds(self.took)));
        for part in ["hooks", "tools", "commands", "flags", "providers"] {
            let listed = registered["extensions"][0][part].as_array();
            let names = listed
                .into_iter()
                .flatten()
                .filter_map(|item| item.get("event").or_else(|| item.get("name")).and_then(Value::as_str));
            let names: Vec<_> = names.collect();
            if !names.is_empty() {
                text.push_str(&format!("\n{part}: {}", plain_line(&names.join(", "))));
            }
        }
        text + "\n"
    }
}

/// Returns what an extension sent, in a few words.
fn told(record: &Value) -> String {
    match record["type"].as_str() {
        Some("request") => {
            let answer = match (&record["response"]["error"]["message"], &record["response"]["result"]) {
                (Value::String(problem), _) => format!("refused: {problem}"),
                (_, result) => short(result),
            };
            format!("asked {} {} → {answer}", text_of(&record["method"]), short(&record["params"]))
        }
        Some("notify") => format!("{} {}", text_of(&record["method"]), short(&record["params"])),
        Some("update") => format!("progress {}", short(&record["partial"])),
        Some("log") => format!("log {}", text_of(&record["message"])),
        _ => short(record),
    }
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
}

/// Returns a value as JSON, without what does not fit in a line.
fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST_VALUE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_hostile_values_stay_in_their_line() {
        let step = Step::new(
            "hook",
            "tool_call",
            json!({ "toolName": "bash", "input": { "command": "x\u{1b}[2J\n".repeat(100) } }),
            Duration::from_millis(2),
            Verdict::Wrong("line\nline\u{1b}]0;x\u{7}".to_owned()),
            &[],
        );
        let text = step.text(false);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(
            !text.contains('\u{1b}') && text.contains('…') && text.contains("WRONG: line line"),
            "{text}"
        );
    }

    #[test]
    fn report_without_extensions_is_not_fine() {
        let report = Report::default();
        assert!(!report.is_fine());
        assert!(report.text(false).contains("there is no extension"));
        assert!(report.json().contains("\"fine\":false"));
    }
}
