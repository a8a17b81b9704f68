//! The lexer against bash itself: what it calls plain, bash reads in the same way.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, TestRunner};

use super::lexer::{SimpleCommand, Word, lex};

/// How many texts are tried. One process reads all that are plain.
const TEXTS: usize = 10_000;

/// Reads texts that are separated by NUL. For each, it writes whether it can be parsed, how `declare -f` prints it, and the
/// words of every command that runs if each succeeds, and if each fails. No command of these names exists. Commands of a
/// pipeline write at the same time, so each writes one line at once.
const SCRIPT: &str = r#"
PATH=/nonexistent
command_not_found_handle() { printf -v words '%s\2' "$@"; words=${words//$'\n'/$'\3'}; printf 'C\1%s\1' "$words" >&9; return "$ENDS"; }
while IFS= read -r -d '' text; do
    if eval "f() {
$text
}" 2>&8; then
        { printf 'P\1'; declare -f f; printf '\1'; } >&9
        for ENDS in 0 1; do
            { printf 'R\1'; } >&9
            f >&8 2>&8 </dev/null
        done
    else
        printf 'S\1' >&9
    fi
    unset -f f
    printf '\0' >&9
done
"#;

/// Pieces of which most texts are: everything that the shell treats in a special way, and little else.
const PIECES: &[&str] = &[
    "a",
    "b",
    "bb",
    "1",
    "2",
    "2147483647",
    "2147483648",
    "99999999999",
    "$'",
    "<<<",
    "<<a\n",
    " ",
    " ",
    " ",
    "\t",
    "\n",
    "'",
    "'",
    "\"",
    "\"",
    "\\",
    "\\\n",
    ";",
    "&",
    "&&",
    "||",
    "|",
    "|&",
    ">",
    ">>",
    "<",
    ">&",
    "<&",
    "&>",
    "/dev/null",
    "2>&1",
    ">/dev/null",
    "#",
    "=",
    "$",
    "`",
    "(",
    ")",
    "{",
    "}",
    "*",
    "?",
    "[",
    "]",
    "!",
    "~",
    "^",
    "-",
    ",",
    "@",
    "+",
    "é",
    "\u{a0}",
    "\u{7f}",
];

/// Pieces of which most texts are plain.
const PLAIN_PIECES: &[&str] = &[
    "a",
    "b",
    "bb",
    " ",
    " ",
    "\n",
    "'",
    "\"",
    "\\",
    ";",
    " && ",
    " || ",
    " | ",
    "2>&1",
    ">/dev/null",
    "#",
    "=",
    "1",
    "2147483648",
    "é",
    "!",
    "~",
    "^",
    "\\\n",
];

fn texts() -> Vec<String> {
    let text = prop_oneof![vec(select(PIECES), 0..12), vec(select(PLAIN_PIECES), 0..16)];
    let mut runner = TestRunner::new(Config::default());
    let one = |runner: &mut TestRunner| text.new_tree(runner).map(|tree| tree.current().concat());
    let all = (0..TEXTS).map(|_| one(&mut runner).unwrap());
    // Others may do anything, such as end the shell.
    all.filter(|text| lex(text).is_plain).collect()
}

/// What bash says about a text.
struct Reading {
    /// How it prints it as a function; none if it cannot be parsed.
    printed: Option<String>,
    /// The words of what ran, if all commands succeed and if all fail.
    runs: Vec<Vec<Vec<String>>>,
}

fn ask_bash(texts: &[String]) -> Vec<Reading> {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", &format!("exec 9>&1 8>/dev/null\n{SCRIPT}")])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = texts.iter().map(|text| format!("{text}\0")).collect::<String>();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).unwrap());
    let mut output = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    writer.join().unwrap();
    child.wait().unwrap();
    let output = String::from_utf8_lossy(&output).into_owned();
    output.split_terminator('\0').map(reading).collect()
}

fn reading(text: &str) -> Reading {
    let mut reading = Reading { printed: None, runs: Vec::new() };
    let mut parts = text.split_terminator('\u{1}');
    while let Some(kind) = parts.next() {
        match kind {
            "P" => reading.printed = parts.next().map(ToOwned::to_owned),
            "R" => reading.runs.push(Vec::new()),
            "C" => {
                let words = parts.next().unwrap_or_default();
                let words = words.split_terminator('\u{2}').map(|word| word.replace('\u{3}', "\n")).collect();
                // One that runs before the function is called has left it.
                reading.runs.last_mut().expect("a run").push(words);
            }
            _ => {}
        }
    }
    reading
}

fn words(command: &SimpleCommand) -> Vec<String> {
    command.words.iter().map(|word| word.text.clone()).collect()
}

/// Returns the commands in what `declare -f` prints.
fn printed_commands(printed: &str) -> Vec<Vec<String>> {
    let body = printed.split_once("{ \n").map_or("", |(_, body)| body);
    let body = body.trim_end().strip_suffix('}').unwrap_or(body);
    lex(body).commands.iter().map(words).collect()
}

#[test]
fn plain_texts_are_read_as_bash_reads_them() {
    let texts = texts();
    let readings = ask_bash(&texts);
    assert_eq!(readings.len(), texts.len(), "bash has stopped");
    let (mut plain, mut compared) = (0, 0);
    for (text, reading) in texts.iter().zip(&readings) {
        let lexed = lex(text);
        if lexed.commands.is_empty() {
            continue;
        }
        plain += 1;
        let printed = reading.printed.as_deref();
        let printed = printed.unwrap_or_else(|| panic!("bash cannot parse {text:?}: {:?}", lexed.commands));
        let found: Vec<_> = lexed.commands.iter().map(words).collect();
        assert_eq!(printed_commands(printed), found, "{text:?} is printed as {printed:?}");
        // What has no pattern and redirects nothing gets its words as they are.
        let is_comparable = |command: &SimpleCommand| {
            let is_name = |word: &Word| !["", "["].contains(&&*word.text) && !word.text.contains('/');
            !command.has_redirections
                && !command.has_assignments
                && !command.words.iter().any(|word| word.has_glob)
                && command.words.first().is_some_and(is_name)
        };
        if !lexed.commands.iter().all(is_comparable) {
            continue;
        }
        for (all_fail, run) in reading.runs.iter().enumerate() {
            let mut left = found.clone();
            for command in run {
                let place = left.iter().position(|words| words == command);
                let place = place.unwrap_or_else(|| panic!("{text:?} runs {command:?}, found {found:?}"));
                left.remove(place);
            }
            let stops = if all_fail == 1 { "&&" } else { "||" };
            // A descriptor that is not open keeps a command from running.
            let may_stop = [stops, ">&", "<&"].iter().any(|stops| text.contains(stops));
            assert!(left.is_empty() || may_stop, "{text:?} does not run {left:?}");
        }
        compared += 1;
    }
    assert!(plain > TEXTS / 20 && compared > TEXTS / 20, "{plain} plain, {compared} compared");
}
