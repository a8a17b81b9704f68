//! `bowline sandbox explain`: what tools may do, for people.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use bowline_core::sandbox::{
    Promise, PromiseState, SandboxLevel, SandboxMode, SandboxNetwork, SandboxReport, SandboxWorkspace,
};
use bowline_dialect::Start;
use bowline_engine::CallGate as _;

use super::SubcommandContext;
use crate::arguments::Arguments;
use crate::blocking::block_on;
use crate::failure::Failure;
use crate::terminal::{hanging, say};

/// The width of the text.
const WIDTH: usize = 80;

/// What a user can do about a sandbox that is too strict or not strict enough.
const CHANGES: &[(&str, &str)] = &[
    ("--sandbox MODE, \"sandbox.mode\"", "read-only, workspace-write or full-access"),
    ("--network MODE, \"sandbox.network\"", "none, allow-list (of \"sandbox.hosts\") or full"),
    ("--writable FOLDER, \"sandbox.writable\"", "one more folder to write"),
    ("\"sandbox.readable\"", "a path that is masked otherwise"),
    ("--workspace overlay, \"sandbox.workspace\"", "changes of this folder wait until they are accepted"),
    ("\"sandbox.home\": \"overlay\"", "package managers write to a copy of the home folder"),
    ("\"sandbox.environment.keep\"", "a variable that commands get in any case"),
];

/// Tries the sandbox and prints what holds.
pub(super) fn explain(arguments: &Arguments, start: &Start) -> Result<ExitCode, Failure> {
    let context = SubcommandContext::read(arguments, start, None)?;
    let confinement = context.confinement()?;
    let mut report = block_on(confinement.prove(None))?.map_err(Failure::Sandbox)?;
    report.ask = context.gate.ask_mode();
    let directory = &context.environment.working_directory;
    if arguments.json {
        let line = serde_json::to_string(&report).unwrap_or_default();
        say(&format!("{line}\n"))?;
    } else {
        say(&text(&report, directory))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns a report as text of [`WIDTH`] columns.
fn text(report: &SandboxReport, directory: &Path) -> String {
    let directory = directory.display();
    let mut text = String::new();
    if !report.mode.is_confined() {
        let _ =
            writeln!(text, "Tools in {directory} are not confined by bowline ({}).", report.mode.as_str());
        not_enforced(&mut text, report);
        environment(&mut text, report);
        section(&mut text, "To confine them");
        wrapped(
            &mut text,
            "pass --sandbox workspace-write, or write {\"sandbox\": {\"mode\": \"workspace-write\"}} into settings.json. \
             bowline sandbox explain --sandbox workspace-write shows what that allows.",
            2,
        );
        return text;
    }
    let _ = writeln!(text, "What tools may do in {directory}");
    for (name, value) in facts(report) {
        let _ = write!(text, "{}{name:<9}", if name == "mode" { "\n  " } else { "  " });
        hanging(&mut text, &value, 11, WIDTH);
    }
    files(&mut text, report);
    environment(&mut text, report);
    promises(&mut text, report);
    not_enforced(&mut text, report);
    section(&mut text, "To change it (flags, and settings in settings.json)");
    entries(&mut text, CHANGES.iter().copied());
    text
}

/// Returns what can be said in a line each.
fn facts(report: &SandboxReport) -> Vec<(&'static str, String)> {
    let mode = match report.mode {
        SandboxMode::ReadOnly => "they write nothing but a private /tmp",
        SandboxMode::WorkspaceWrite => "they write this folder and a private /tmp",
        SandboxMode::External | SandboxMode::FullAccess => "they have all rights of the user",
    };
    let level = match report.level {
        SandboxLevel::Full => "namespaces, Landlock and seccomp",
        SandboxLevel::Landlock => "Landlock and seccomp; weaker, see \"Not enforced\"",
        SandboxLevel::External => "something else confines bowline",
        SandboxLevel::None => "nothing is in force yet",
    };
    let network = match report.network {
        SandboxNetwork::None if report.level == SandboxLevel::Landlock => "no sockets of the internet at all",
        SandboxNetwork::None => "only servers that tools start themselves, on localhost",
        SandboxNetwork::AllowList => "these hosts, through a proxy:",
        SandboxNetwork::Full => "everything that the user reaches, this machine and its neighbours included",
    };
    let hosts = if report.hosts.is_empty() { "none".to_owned() } else { report.hosts.join(", ") };
    let network = match report.network {
        SandboxNetwork::AllowList => format!("{network} {hosts}"),
        _ => network.to_owned(),
    };
    let landlock = match report.landlock_abi {
        0 => "without Landlock".to_owned(),
        version => format!("Landlock {version}"),
    };
    let overlay = match report.workspace {
        Some(SandboxWorkspace::Overlay) => {
            Some("overlay: it stays as it is until the client accepts changes")
        }
        _ => None,
    };
    let mut facts = vec![
        ("mode", format!("{}: {mode}", report.mode.as_str())),
        ("level", format!("{}: {level}", report.level.as_str())),
        ("network", format!("{}: {network}", report.network.as_str())),
        ("home", report.home.clone()),
        ("kernel", format!("{}, {landlock}", report.kernel)),
    ];
    if let Some(overlay) = overlay {
        facts.insert(1, ("folder", overlay.to_owned()));
    }
    facts
}

fn files(text: &mut String, report: &SandboxReport) {
    section(text, "May write");
    listed(text, &report.writable);
    let granted: Vec<_> = report.granted.paths.iter().map(|path| path.display().to_string()).collect();
    if !granted.is_empty() {
        section(text, "May also write, because you allowed it");
        listed(text, &granted);
    }
    if !report.read_only_inside.is_empty() {
        section(text, "May not write, although it is inside");
        wrapped(text, &report.read_only_inside.join(", "), 2);
    }
    section(text, "May not read");
    let masked =
        if report.masked.is_empty() { "nothing is masked".to_owned() } else { report.masked.join(", ") };
    wrapped(text, &masked, 2);
}

fn environment(text: &mut String, report: &SandboxReport) {
    if !report.environment.dropped.is_empty() {
        section(text, "Variables that commands do not get");
        wrapped(text, &report.environment.dropped.join(", "), 2);
    }
}

fn promises(text: &mut String, report: &SandboxReport) {
    for (state, heading) in [
        (PromiseState::Proved, "Proved: tried inside just now, and refused"),
        (PromiseState::Assumed, "Assumed: the mechanism is there, nothing has tried it"),
        (PromiseState::Absent, "Absent: this does not hold"),
    ] {
        let of_state = |promise: &&Promise| promise.state == state;
        if report.promises.iter().any(|promise| promise.state == state) {
            let count = report.promises.iter().filter(of_state).count();
            section(text, &format!("{heading} ({count})"));
            let promises = report.promises.iter().filter(of_state);
            entries(text, promises.map(|promise| (promise.id.as_str(), promise.text.as_str())));
        }
    }
}

fn not_enforced(text: &mut String, report: &SandboxReport) {
    if !report.not_enforced.is_empty() {
        section(text, "Not enforced");
        entries(text, report.not_enforced.iter().map(|gap| (gap.id.as_str(), gap.why.as_str())));
    }
}

fn section(text: &mut String, heading: &str) {
    let _ = writeln!(text, "\n{heading}");
}

fn listed(text: &mut String, items: &[String]) {
    for item in items {
        let _ = writeln!(text, "  {item}");
    }
    if items.is_empty() {
        text.push_str("  nothing\n");
    }
}

/// Appends names with explanations, side by side if the names are short.
fn entries<'a>(text: &mut String, entries: impl Iterator<Item = (&'a str, &'a str)>) {
    const LONGEST: usize = 22;
    let entries: Vec<_> = entries.collect();
    let column = entries.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0) + 4;
    for (name, explanation) in entries {
        if column > LONGEST + 4 {
            let _ = writeln!(text, "  {name}");
            wrapped(text, explanation, 6);
        } else {
            let _ = write!(text, "  {name:<width$}", width = column - 2);
            hanging(text, explanation, column, WIDTH);
        }
    }
}

/// Appends a paragraph.
fn wrapped(text: &mut String, paragraph: &str, indent: usize) {
    text.extend(std::iter::repeat_n(' ', indent));
    hanging(text, paragraph, indent, WIDTH);
}

#[cfg(test)]
mod tests {
    use bowline_core::sandbox::{NotEnforced, ReportedEnvironment};

    use super::*;

    fn report() -> SandboxReport {
        let promise = |id: &str, state, text: &str| Promise {
            id: id.to_owned(),
            state,
            text: text.to_owned(),
            at: Some(1),
        };
        SandboxReport {
            mode: SandboxMode::WorkspaceWrite,
            level: SandboxLevel::Full,
            network: SandboxNetwork::None,
            kernel: "6.18.44".to_owned(),
            landlock_abi: 7,
            writable: vec!["/home/me/project".to_owned(), "/tmp (private)".to_owned()],
            read_only_inside: vec![".git/config".to_owned(), ".git/hooks".to_owned()],
            masked: vec!["~/.ssh".to_owned(), "~/.aws".to_owned()],
            home: "read-only".to_owned(),
            promises: vec![
                promise(
                    "file.write",
                    PromiseState::Proved,
                    "No file outside of the writable folders can be written or truncated.",
                ),
                promise("socket.path", PromiseState::Assumed, "No socket of another program can be reached."),
            ],
            not_enforced: vec![NotEnforced {
                id: "file.hardlink".to_owned(),
                why: "Files that have another name outside can be changed through it.".to_owned(),
            }],
            environment: ReportedEnvironment { dropped: vec!["ANTHROPIC_API_KEY".to_owned()] },
            ..SandboxReport::default()
        }
    }

    #[test]
    fn confined_tools_are_explained() {
        let expected = "\
What tools may do in /home/me/project

  mode     workspace-write: they write this folder and a private /tmp
  level    full: namespaces, Landlock and seccomp
  network  none: only servers that tools start themselves, on localhost
  home     read-only
  kernel   6.18.44, Landlock 7

May write
  /home/me/project
  /tmp (private)

May not write, although it is inside
  .git/config, .git/hooks

May not read
  ~/.ssh, ~/.aws

Variables that commands do not get
  ANTHROPIC_API_KEY

Proved: tried inside just now, and refused (1)
  file.write  No file outside of the writable folders can be written or
              truncated.

Assumed: the mechanism is there, nothing has tried it (1)
  socket.path  No socket of another program can be reached.

Not enforced
  file.hardlink  Files that have another name outside can be changed through it.
";
        let text = text(&report(), Path::new("/home/me/project"));
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains("\nTo change it (flags, and settings in settings.json)\n"), "{text}");
    }

    #[test]
    fn unconfined_tools_are_said_to_be() {
        let report = SandboxReport::unconfined(SandboxMode::FullAccess);
        let text = text(&report, Path::new("/home/me/project"));
        assert!(
            text.starts_with("Tools in /home/me/project are not confined by bowline (full-access).\n"),
            "{text}"
        );
        assert!(text.contains("\nTo confine them\n  pass --sandbox workspace-write"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        let mut long = report();
        long.masked = (0..60).map(|index| format!("~/.secret-{index}")).collect();
        long.hosts = (0..30).map(|index| format!("host-{index}.example.org")).collect();
        long.network = SandboxNetwork::AllowList;
        for report in [long, SandboxReport::unconfined(SandboxMode::External)] {
            let text = text(&report, Path::new("/home/me/project"));
            for line in text.lines() {
                assert!(line.chars().count() <= WIDTH, "{line}");
            }
        }
    }

    /// Replaces what is between two marks of a page.
    fn replaced(page: &str, begin: &str, end: &str, text: &str) -> String {
        let (before, rest) = page.split_once(begin).unwrap();
        let (_, after) = rest.split_once(end).unwrap();
        format!("{before}{begin}\n{text}\n{end}{after}")
    }

    #[cfg(target_os = "linux")]
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the switch that rewrites the file instead of checking it")]
    fn documentation_lists_the_promises_and_the_gaps() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/security.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let rows = bowline_sandbox::all_promises().map(|(id, promise, holds)| {
            let holds = if holds { "yes" } else { "no" };
            format!("| `{id}` | {promise} | {holds} |\n")
        });
        let table = format!(
            "| id | promise | also at the level `landlock` |\n|---|---|---|\n{}",
            rows.collect::<String>()
        );
        let (full, landlock) = bowline_sandbox::all_gaps();
        let list = |gaps: &[NotEnforced]| -> String {
            gaps.iter().map(|gap| format!("- `{}`: {}\n", gap.id, gap.why)).collect()
        };
        let gaps = format!("{}\nAt the level `landlock`, also:\n\n{}", list(&full), list(&landlock));
        let begin = "<!-- The table of promises is generated: ./test update -->\n";
        let expected = replaced(&page, begin, "<!-- end of the table -->\n", &table);
        let begin = "<!-- The list of gaps is generated: ./test update -->\n";
        let expected = replaced(&expected, begin, "<!-- end of the list -->\n", &gaps);
        if std::env::var_os("BOWLINE_UPDATE").is_some() {
            std::fs::write(&path, &expected).unwrap();
        } else {
            assert!(page == expected, "docs/security.md is out of date: run ./test update");
        }
    }
}
