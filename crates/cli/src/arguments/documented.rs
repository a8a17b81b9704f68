//! The command lines of the documentation are understood.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::dialect_choice::Choice;

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    let entries = fs::read_dir(root.join("docs")).unwrap();
    pages.extend(
        entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "md")),
    );
    pages.sort();
    pages
}

/// Returns the lines that a reader would type: those after `$ `, and all of blocks of shell.
fn typed_lines(page: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut block = None;
    let mut is_continued = false;
    for line in page.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            block = if block.is_some() { None } else { Some(language.trim()) };
            is_continued = false;
            continue;
        }
        let typed = match block {
            Some("console") if is_continued => Some(line),
            Some("console") => line.strip_prefix("$ "),
            Some("sh" | "bash") => Some(line),
            _ => None,
        };
        let Some(typed) = typed else { continue };
        let part = typed.strip_suffix('\\').unwrap_or(typed);
        match lines.last_mut().filter(|_| is_continued) {
            Some(last) => last.push_str(part),
            None => lines.push(part.to_owned()),
        }
        is_continued = typed.ends_with('\\');
    }
    lines
}

/// Splits a line into its commands, and those into words.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some('"'), '\\') | (None, '\\') => word.get_or_insert_default().extend(letters.next()),
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | ';' | '&' | '(' | ')' | '<' | '>') => {
                commands.last_mut().unwrap().extend(word.take());
                // What follows a redirection is the name of a file.
                commands.push(if matches!(letter, '<' | '>') {
                    vec!["a file:".to_owned()]
                } else {
                    Vec::new()
                });
            }
            (None, _) if letter.is_whitespace() => commands.last_mut().unwrap().extend(word.take()),
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    commands.last_mut().unwrap().extend(word);
    commands
}

/// Returns the words after `bowline`, and the name under which it was started.
fn of_bowline(command: &[String]) -> Option<(&str, &[String])> {
    let is_assignment = |word: &&String| {
        word.split_once('=')
            .is_some_and(|(name, _)| name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_'))
    };
    let begins = command.iter().take_while(is_assignment).count();
    let (program, words) = command[begins..].split_first()?;
    ["bowline", "pi", "omp", "opi"].contains(&program.as_str()).then_some((program.as_str(), words))
}

#[test]
fn every_command_line_of_the_documentation_is_understood() {
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for line in typed_lines(&text) {
            for command in commands(&line) {
                let Some((program, words)) = of_bowline(&command) else { continue };
                let choice = Choice::new(program, words);
                let parsed = Arguments::parse(
                    words.to_vec(),
                    choice.dialect(),
                    choice.start().short_flags,
                    choice.is_pi(),
                );
                let problem = match parsed {
                    Ok(arguments) => arguments.unknown_flag_warnings().join("; "),
                    Err(failure) => failure.to_string(),
                };
                // A page shows what is said of a misspelt subcommand.
                let is_mistake = words == ["dmeo"];
                assert_eq!(!problem.is_empty(), is_mistake, "{}: {line}\n{problem}", page.display());
                count += 1;
            }
        }
    }
    assert!(count > 60, "only {count} command lines were found");
}
