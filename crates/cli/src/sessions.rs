//! `bowline sessions`: lists, shows, deletes and checks stored sessions, and restores what their runs changed.

use std::path::PathBuf;
use std::process::ExitCode;

use bowline_dialect::Start;
use bowline_engine::{UNDO_FOLDER, UndoSettings};
use bowline_session::{
    ListQuery, Problem, Report, Scope, Session, SessionSummary, Store, check_file, children_of, repair_file,
};
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::local_time;
use crate::session_undo::{self, Wishes};
use crate::settings::SettingsFile;
use crate::startup;
use crate::table::{Align, render};
use crate::terminal::{note, plain_line, say};
use crate::transcript;

pub(crate) const USAGE: &str = "\
bowline sessions list                 list the sessions of this folder, newest first
bowline sessions list --all           list those of all folders; --search TEXT filters the list
bowline sessions show PATH|ID         show the details and the messages of a session
bowline sessions rm PATH|ID...        delete sessions with those of their subagents
bowline sessions undo PATH|ID         restore files that the last run changed; --run N another one
bowline sessions undo --dry-run ...   show what would be restored
bowline sessions fsck [PATH|ID...]    check sessions for damage; all of them by default
bowline sessions fsck --repair ...    move damaged lines to a separate file and close the gaps

With --json, list, show, undo and fsck print one JSON object per line. A unique prefix of an id is enough.
";

/// Runs a subcommand. The exit code of fsck is 1 if a session is damaged.
pub(crate) fn main(arguments: &Arguments, start: &Start) -> Result<ExitCode, Failure> {
    let environment = Environment::read(arguments.working_directory.as_deref())?;
    let file = SettingsFile::of_user(&environment)?;
    let Some(store) = startup::session_plan(arguments, &environment, start, &file).store else {
        return Err(Failure::Usage("sessions cannot be used with --no-session".to_owned()));
    };
    let undo = file.undo.settings();
    let sessions = Sessions { store, environment, undo, as_json: arguments.json };
    let (verb, named) = match arguments.words.split_first() {
        Some((verb, named)) => (verb.as_str(), named),
        None => return say(USAGE).map(|()| ExitCode::from(2)),
    };
    match (verb, named) {
        ("list", []) => sessions.list(arguments),
        ("show", [session]) => sessions.show(session),
        ("rm", [_, ..]) => sessions.remove(named),
        ("undo", [session]) => sessions.undo(session, arguments),
        ("fsck", _) => {
            let mode = if arguments.repair { Fsck::Repair } else { Fsck::CheckOnly };
            sessions.check(named, mode)
        }
        ("list", _) => Err(Failure::Usage(
            "list takes no arguments; filter it with: bowline sessions list --search TEXT".to_owned(),
        )),
        ("show" | "undo", [_, _, ..]) => Err(Failure::Usage(format!(
            "{verb} takes one session at a time: bowline sessions {verb} PATH|ID"
        ))),
        ("show" | "rm" | "undo", _) => {
            Err(Failure::Usage(format!("which session? bowline sessions {verb} PATH|ID")))
        }
        // Other words are refused with the command line.
        _ => say(USAGE).map(|()| ExitCode::from(2)),
    }
}

/// The store and the output format.
struct Sessions {
    store: Store,
    environment: Environment,
    undo: UndoSettings,
    as_json: bool,
}

/// What fsck does with a damaged session.
#[derive(Clone, Copy)]
enum Fsck {
    CheckOnly,
    Repair,
}

impl Sessions {
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
            note(format_args!(
                "bowline: no sessions{}",
                if arguments.all { "" } else { " in this folder; use --all for other folders" }
            ));
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
        let children = children_of(&path)?;
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
                "subagents": children.iter().map(|child| json!({ "id": child.id, "path": child.file.to_string_lossy() })).collect::<Vec<_>>(),
                "malformedLines": session.malformed_lines(),
                "relinkedEntries": session.damage().unwrap_or_default().relinked_entries,
            });
            return say(&format!("{shown}\n")).map(|()| ExitCode::SUCCESS);
        }
        let mut shown = format!(
            "id        {}\nfile      {}\nfolder    {}\nname      {}\ncreated   {}\nmessages  {} ({} from the user, {} answers, {} tool calls)\n",
            plain_line(session.id()),
            plain_line(&path.to_string_lossy()),
            plain_line(&session.working_directory().to_string_lossy()),
            plain_line(session.name().unwrap_or("-")),
            plain_line(&local_time::of_text(&session.header().timestamp)),
            figures.total_messages,
            figures.user_messages,
            figures.assistant_messages,
            figures.tool_calls,
        );
        for model in models {
            let (usage, cost) = (model.usage, model.usage.cost.total);
            let line = format!(
                "{}/{}: {} answers, {} tokens in, {} out, ${cost:.4}",
                model.provider,
                model.model,
                model.assistant_messages,
                usage.input + usage.cache_read + usage.cache_write,
                usage.output
            );
            shown.push_str(&format!("model     {}\n", plain_line(&line)));
        }
        for child in &children {
            shown.push_str(&format!("subagent  {}\n", plain_line(&child.file.to_string_lossy())));
        }
        for run in session_undo::runs(&session, &path, &self.environment, self.undo) {
            shown.push_str(&format!("changes   {}\n", plain_line(&run)));
        }
        if let Some(damage) = session.damage() {
            shown.push_str(&format!(
                "damaged   {} cannot be read, {} relinked; run bowline sessions fsck\n",
                counted(damage.unreadable_lines, "line", "lines"),
                counted(damage.relinked_entries, "entry", "entries"),
            ));
        }
        shown.push_str(&transcript::render(&session)?);
        say(&shown).map(|()| ExitCode::SUCCESS)
    }

    fn remove(&self, named: &[String]) -> Result<ExitCode, Failure> {
        for text in named {
            let path = self.find(text)?;
            for id in self.store.delete(&path)? {
                bowline_tools::remove_logs(&self.environment.temporary_directory, &id);
                bowline_undo::remove(&self.environment.home.join(UNDO_FOLDER), &id);
                #[cfg(target_os = "linux")]
                bowline_sandbox::forget_changes(&self.environment.home, &id);
            }
            note(format_args!("bowline: deleted {}", path.display()));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn undo(&self, text: &str, arguments: &Arguments) -> Result<ExitCode, Failure> {
        let wishes = Wishes { run: arguments.run, dry_run: arguments.dry_run, as_json: self.as_json };
        session_undo::undo(&self.find(text)?, &self.environment, self.undo, &wishes)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Checks the named sessions, or all. A session that cannot be read does not stop the check of the others.
    fn check(&self, named: &[String], mode: Fsck) -> Result<ExitCode, Failure> {
        let paths = match named {
            [] => with_children(self.store.all_files()?)?,
            _ => named.iter().map(|text| self.find(text)).collect::<Result<_, _>>()?,
        };
        let mut damaged = 0;
        for path in &paths {
            let result = check_file(path).and_then(|report| match mode {
                Fsck::Repair if report.needs_repair() => repair_file(path),
                _ => Ok(report),
            });
            match result {
                Ok(report) => {
                    damaged += usize::from(report.needs_repair() && report.backup.is_none());
                    self.show_report(path, &report)?;
                }
                Err(error) => {
                    damaged += 1;
                    note(format_args!("bowline: {error}"));
                }
            }
        }
        if !self.as_json {
            let verdict = match damaged {
                0 => "none damaged".to_owned(),
                _ => format!("{damaged} damaged; add --repair to mend them, which keeps the original files"),
            };
            say(&format!("{} checked, {verdict}\n", paths.len()))?;
        }
        Ok(ExitCode::from(u8::from(damaged > 0)))
    }

    fn show_report(&self, path: &std::path::Path, report: &Report) -> Result<(), Failure> {
        if self.as_json {
            return say(&format!("{}\n", report_json(path, report)));
        }
        let mut found = Vec::new();
        for bad in &report.bad_lines {
            let problem = match bad.problem {
                Problem::Torn => "is incomplete because its write was interrupted",
                Problem::NotJson => "is not JSON",
                Problem::NotAnEntry => "is not an entry",
                Problem::Unreadable => "is an entry whose content cannot be read",
                Problem::TooLong => "is too long to be read",
            };
            found.push(format!("line {} {problem} ({} bytes)", bad.number, bad.length));
        }
        if report.lacks_final_line_feed {
            found.push("the last line has no line feed".to_owned());
        }
        found.extend(report.duplicate_ids.iter().map(|id| format!("the id {id} occurs more than once")));
        found.extend(
            report
                .missing_parents
                .iter()
                .map(|(entry, parent)| format!("the entry {parent} before {entry} is missing")),
        );
        if !found.is_empty() {
            let (lost, cut) = (report.bad_lines.len(), report.missing_parents.len());
            found.push(format!(
                "in short: {} lost, {} cut off from what came before and {} intact",
                counted(lost, "line", "lines"),
                counted(cut, "entry", "entries"),
                counted(usize::try_from(report.entries).unwrap_or(usize::MAX), "entry", "entries"),
            ));
        }
        if let Some(aside) = &report.set_aside {
            found.push(format!("damaged lines were moved to {}", aside.display()));
        }
        if report.backup.is_some() && !report.missing_parents.is_empty() {
            found.push("entries after a gap were linked to the entry before it".to_owned());
        }
        if let Some(backup) = &report.backup {
            found.push(format!("the original file was kept as {}", backup.display()));
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

/// Returns sessions, each followed by those of its subagents.
fn with_children(sessions: Vec<PathBuf>) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for session in sessions {
        let children = children_of(&session)?;
        files.push(session);
        files.extend(children.into_iter().map(|child| child.file));
    }
    Ok(files)
}

/// Returns the row of a session: its name or its first message, and its folder if the list covers several.
fn row(session: &SessionSummary, with_folder: bool) -> [String; 4] {
    let what = session.name.clone().unwrap_or_else(|| session.first_message.clone());
    let what: String = what.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
    let what = if with_folder { format!("{what}  ({})", session.working_directory.display()) } else { what };
    [
        local_time::of_milliseconds(session.modified),
        session.id.clone(),
        session.message_count.to_string(),
        what,
    ]
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
        Problem::Unreadable => "unreadable",
        Problem::TooLong => "too_long",
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

fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}
