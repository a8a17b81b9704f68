//! `bowline sessions`: the sessions on disk, without a model and without a client.

use std::path::PathBuf;
use std::process::ExitCode;

use bowline_dialect::Start;
use bowline_session::{
    ListQuery, Problem, Report, Scope, Session, SessionSummary, Store, check_file, repair_file,
};
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings_file::SettingsFile;
use crate::startup;
use crate::table::{Align, render};
use crate::terminal::say;

const USAGE: &str = "\
bowline sessions list                 the sessions of this folder, newest first
bowline sessions list --all           those of every folder; --search TEXT leaves only some
bowline sessions show PATH|ID         what is known of a session
bowline sessions rm PATH|ID...        delete sessions
bowline sessions fsck [PATH|ID...]    look for damage, in all sessions if none is named
bowline sessions fsck --repair ...    set damaged lines aside; nothing is deleted

--json gives list, show and fsck as one JSON object per line. The beginning of an id will do.
";

/// Carries out a subcommand. The exit code of fsck says whether something is damaged.
pub(crate) fn main(arguments: &Arguments, start: &Start) -> Result<ExitCode, Failure> {
    let environment = Environment::read()?;
    let file = SettingsFile::read(&environment.home.join("settings.json"))?;
    let Some(store) = startup::session_plan(arguments, &environment, start, &file).store else {
        return Err(Failure::Usage("--no-session leaves no sessions to look at".to_owned()));
    };
    let here = Here { store, environment, as_json: arguments.json };
    let (verb, named) = match arguments.words.split_first() {
        Some((verb, named)) => (verb.as_str(), named),
        None => return say(USAGE).map(|()| ExitCode::from(2)),
    };
    match (verb, named) {
        ("list", []) => here.list(arguments),
        ("show", [session]) => here.show(session),
        ("rm", [_, ..]) => here.remove(named),
        ("fsck", _) => here.check(named, arguments.repair),
        ("list" | "show" | "rm", _) => {
            Err(Failure::Usage(format!("see how {verb} is used: bowline sessions")))
        }
        _ => Err(Failure::Usage(format!("sessions knows list, show, rm and fsck, not \"{verb}\""))),
    }
}

/// Where sessions are, and how they are shown.
struct Here {
    store: Store,
    environment: Environment,
    as_json: bool,
}

impl Here {
    fn list(&self, arguments: &Arguments) -> Result<ExitCode, Failure> {
        let scope = match arguments.all {
            true => Scope::All,
            false => Scope::Directory(self.environment.working_directory.clone()),
        };
        let search = Some(arguments.search.clone()).filter(|text| !text.is_empty());
        let page = self.store.list(&ListQuery { scope, search, cursor: None, limit: usize::MAX })?;
        if self.as_json {
            let lines = page.sessions.iter().map(|session| format!("{}\n", summary_json(session)));
            return say(&lines.collect::<String>()).map(|()| ExitCode::SUCCESS);
        }
        if page.sessions.is_empty() {
            eprintln!(
                "bowline: no sessions{}",
                if arguments.all { "" } else { " of this folder; --all shows the others" }
            );
            return Ok(ExitCode::SUCCESS);
        }
        let rows: Vec<_> = page.sessions.iter().map(|session| row(session, arguments.all)).collect();
        let columns = [
            ("changed", Align::Left),
            ("id", Align::Left),
            ("messages", Align::Right),
            ("what", Align::Left),
        ];
        say(&render(columns, &rows)).map(|()| ExitCode::SUCCESS)
    }

    fn show(&self, text: &str) -> Result<ExitCode, Failure> {
        let path = self.find(text)?;
        let session = Session::read(&path, &self.environment.working_directory)?;
        let figures = session.statistics()?;
        let models = session.statistics_by_model()?;
        if self.as_json {
            let models: Vec<_> = models
                .iter()
                .map(|model| json!({ "provider": model.provider, "model": model.model, "answers": model.assistant_messages, "usage": model.usage }))
                .collect();
            let shown = json!({
                "id": session.id(), "path": path.to_string_lossy(), "cwd": session.working_directory().to_string_lossy(),
                "name": session.name(), "created": session.header().timestamp, "messages": figures.total_messages,
                "userMessages": figures.user_messages, "assistantMessages": figures.assistant_messages,
                "toolCalls": figures.tool_calls, "usage": figures.usage, "byModel": models,
                "malformedLines": session.malformed_lines(),
            });
            return say(&format!("{shown}\n")).map(|()| ExitCode::SUCCESS);
        }
        let mut shown = format!(
            "id        {}\nfile      {}\nfolder    {}\nname      {}\nbegan     {}\nmessages  {} ({} of the user, {} answers, {} tool calls)\n",
            session.id(),
            path.display(),
            session.working_directory().display(),
            session.name().unwrap_or("-"),
            session.header().timestamp,
            figures.total_messages,
            figures.user_messages,
            figures.assistant_messages,
            figures.tool_calls,
        );
        for model in models {
            let (usage, cost) = (model.usage, model.usage.cost.total);
            let line = format!(
                "{}/{}: {} answers, {} tokens in, {} out, ${cost:.4}\n",
                model.provider,
                model.model,
                model.assistant_messages,
                usage.input + usage.cache_read + usage.cache_write,
                usage.output
            );
            shown.push_str(&format!("model     {line}"));
        }
        if session.malformed_lines() > 0 {
            shown.push_str(&format!(
                "damaged   {}; see bowline sessions fsck\n",
                lines(session.malformed_lines() as u64)
            ));
        }
        say(&shown).map(|()| ExitCode::SUCCESS)
    }

    fn remove(&self, named: &[String]) -> Result<ExitCode, Failure> {
        for text in named {
            let path = self.find(text)?;
            self.store.delete(&path)?;
            eprintln!("bowline: deleted {}", path.display());
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Checks the named sessions, or all. A session that cannot be looked at at all does not hide the others.
    fn check(&self, named: &[String], repair: bool) -> Result<ExitCode, Failure> {
        let paths = match named {
            [] => self.all_files()?,
            _ => named.iter().map(|text| self.find(text)).collect::<Result<_, _>>()?,
        };
        let mut damaged = 0;
        for path in &paths {
            let result = check_file(path).and_then(|report| match repair && report.needs_repair() {
                true => repair_file(path),
                false => Ok(report),
            });
            match result {
                Ok(report) => {
                    damaged += usize::from(report.needs_repair() && report.backup.is_none());
                    self.show_report(path, &report)?;
                }
                Err(error) => {
                    damaged += 1;
                    eprintln!("bowline: {error}");
                }
            }
        }
        if !self.as_json {
            let verdict =
                if damaged == 0 { "none is damaged".to_owned() } else { format!("{damaged} damaged") };
            say(&format!("{} looked at, {verdict}\n", paths.len()))?;
        }
        Ok(ExitCode::from(u8::from(damaged > 0)))
    }

    fn all_files(&self) -> Result<Vec<PathBuf>, Failure> {
        let query = ListQuery { scope: Scope::All, search: None, cursor: None, limit: usize::MAX };
        Ok(self.store.list(&query)?.sessions.into_iter().map(|session| session.path).collect())
    }

    fn show_report(&self, path: &std::path::Path, report: &Report) -> Result<(), Failure> {
        if self.as_json {
            return say(&format!("{}\n", report_json(path, report)));
        }
        let mut found = Vec::new();
        for bad in &report.bad_lines {
            let problem = match bad.problem {
                Problem::Torn => "was cut off while it was written",
                Problem::NotJson => "is not JSON",
                Problem::NotAnEntry => "is not an entry",
            };
            found.push(format!("line {} {problem} ({} bytes)", bad.number, bad.length));
        }
        if report.lacks_final_line_feed {
            found.push("the last line has no end".to_owned());
        }
        found.extend(report.duplicate_ids.iter().map(|id| format!("the id {id} occurs more than once")));
        found.extend(
            report
                .missing_parents
                .iter()
                .map(|(entry, parent)| format!("{entry} follows {parent}, which is not there")),
        );
        if let Some(aside) = &report.set_aside {
            found.push(format!("the damaged lines are now in {}", aside.display()));
        }
        if let Some(backup) = &report.backup {
            found.push(format!("the file as it was is now {}", backup.display()));
        }
        if found.is_empty() {
            return Ok(());
        }
        say(&format!("{}\n  {}\n", path.display(), found.join("\n  ")))
    }

    fn find(&self, text: &str) -> Result<PathBuf, Failure> {
        Ok(self.store.find(&self.environment.working_directory, text)?)
    }
}

/// What stands for a session in the list: its name, or how it began; its folder too, when there are several.
fn row(session: &SessionSummary, with_folder: bool) -> [String; 4] {
    let what = session.name.clone().unwrap_or_else(|| session.first_message.clone());
    let what: String = what.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
    let what = if with_folder { format!("{what}  ({})", session.working_directory.display()) } else { what };
    let changed =
        i64::try_from(session.modified).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    let changed =
        changed.map(|at| at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string());
    [changed.unwrap_or_default(), session.id.clone(), session.message_count.to_string(), what]
}

fn summary_json(session: &SessionSummary) -> Value {
    json!({
        "id": session.id, "path": session.path.to_string_lossy(), "cwd": session.working_directory.to_string_lossy(),
        "name": session.name, "firstMessage": session.first_message, "messageCount": session.message_count,
        "created": session.created, "modified": session.modified,
    })
}

fn report_json(path: &std::path::Path, report: &Report) -> Value {
    let problem = |problem: Problem| match problem {
        Problem::Torn => "torn",
        Problem::NotJson => "not_json",
        Problem::NotAnEntry => "not_an_entry",
    };
    let bad: Vec<_> = report
        .bad_lines
        .iter()
        .map(|line| json!({ "line": line.number, "bytes": line.length, "problem": problem(line.problem) }))
        .collect();
    json!({
        "path": path.to_string_lossy(), "id": report.id, "version": report.version, "entries": report.entries,
        "badLines": bad, "lacksFinalLineFeed": report.lacks_final_line_feed,
        "duplicateIds": report.duplicate_ids, "missingParents": report.missing_parents, "unknownTypes": report.unknown_types,
        "setAside": report.set_aside, "backup": report.backup,
    })
}

fn lines(count: u64) -> String {
    if count == 1 { "1 line".to_owned() } else { format!("{count} lines") }
}
