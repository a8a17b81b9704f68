//! Command lines: what they would run, as far as that can be told without running them.
//!
//! A rule that allows something must not be fooled, so it only speaks about texts of the plain subset, in which every word
//! is what it looks like. A rule that asks or denies should not be evaded by accident, so it looks for its words in
//! everything that might be a command: behind wrappers, in substitutions, in the text of `sh -c`. It is advice all the
//! same: only the sandbox keeps a command from doing something.

mod git;
pub(crate) mod lexer;
pub(crate) mod remembering;

use lexer::{Lexed, SimpleCommand, Word, lex};

/// How deep commands within commands are looked at.
const DEEPEST: usize = 8;

/// Programs that run another one with some of their arguments.
const WRAPPERS: &[&str] = &[
    "env",
    "command",
    "builtin",
    "exec",
    "nohup",
    "nice",
    "ionice",
    "timeout",
    "time",
    "stdbuf",
    "setsid",
    "xargs",
    "sudo",
    "doas",
    "su",
    "chroot",
    "unshare",
    "nsenter",
    "strace",
    "ltrace",
    "watch",
    "parallel",
    "find",
    "fd",
    "busybox",
    "systemd-run",
    "flock",
    "script",
    "coproc",
    // Its name and a brace come before the first command.
    "function",
    "choom",
    "chrt",
    "fakeroot",
    "gosu",
    "linux32",
    "linux64",
    "prlimit",
    "runuser",
    "setarch",
    "setpriv",
    "taskset",
    "unbuffer",
    "xvfb-run",
];

/// Programs that run a text of their arguments as a command.
const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "csh", "tcsh", "fish", "eval", "su", "runuser", "sg",
    "script", "watch", "trap", "flock", "parallel", "ssh", "source", ".",
];

/// The wrapper that splits a text into words and runs them.
const ENV: &str = "env";

/// Words before a command that is no simple one. Those that may have words of their own before it are wrappers.
const KEYWORDS: &[&str] = &["if", "then", "elif", "else", "while", "until", "do", "{", "}", "!", "in"];

/// A command line.
#[derive(Debug, Clone)]
pub(crate) struct CommandLine {
    lexed: Lexed,
    /// The literal words of everything that might be a command.
    candidates: Vec<Vec<String>>,
    /// Whether something is nested too deep to be looked at.
    pub is_too_deep: bool,
    /// How much may still be read and kept, about in bytes.
    work_left: usize,
}

/// A command that a rule can allow: every word is what it looks like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainCommand<'line>(&'line SimpleCommand);

impl CommandLine {
    /// Reads a text.
    pub fn new(text: &str) -> Self {
        let lexed = lex(text);
        // What is within something else is read again, and a text can be made so that this never ends.
        let work_left = text.len().saturating_mul(MOST_READINGS).saturating_add(LEAST_WORK);
        let mut line =
            Self { lexed: Lexed::default(), candidates: Vec::new(), is_too_deep: false, work_left };
        line.collect(&lexed, 0);
        line.collect_lines(text, &lexed, 0);
        Self { lexed, ..line }
    }

    /// Returns the commands if nothing else is in the text, and nothing that a rule cannot speak about.
    pub fn plain(&self) -> Option<Vec<PlainCommand<'_>>> {
        let is_plain = |command: &SimpleCommand| {
            !command.has_assignments
                && !command.has_redirections
                && command.words.first().is_some_and(|first| first.is_literal && !first.has_glob)
        };
        let commands = &self.lexed.commands;
        let are_plain = self.lexed.is_plain && !commands.is_empty() && commands.iter().all(is_plain);
        are_plain.then(|| commands.iter().map(PlainCommand).collect())
    }

    /// Tells whether something in the text might be a command that begins like this.
    pub fn might_run(&self, begins: impl Fn(&[String]) -> bool) -> bool {
        self.candidates.iter().any(|words| {
            if begins(words) {
                return true;
            }
            // A path names the same program.
            let Some((_, name)) = words.first().and_then(|first| first.rsplit_once('/')) else {
                return false;
            };
            let mut named = words.clone();
            named[0] = name.to_owned();
            begins(&named)
        })
    }

    /// Collects what might be a command.
    fn collect(&mut self, lexed: &Lexed, depth: usize) {
        if depth > DEEPEST {
            self.is_too_deep = true;
            return;
        }
        for command in &lexed.commands {
            // A substitution within quotes is part of a word.
            let all = command.words.iter().chain(&command.asides);
            for word in all.filter(|word| !word.is_literal && word.text.contains(['(', '`'])) {
                self.collect_text(&word.text, depth);
            }
            self.collect_command(command, depth);
        }
    }

    /// Collects what the lines of a text might run, if not all of them can be told apart.
    fn collect_lines(&mut self, text: &str, lexed: &Lexed, depth: usize) {
        if !lexed.may_hide_lines || !text.contains('\n') || !self.may_work(text.len()) {
            return;
        }
        for line in text.replace("\\\n", "").lines() {
            self.collect(&lex(line), depth);
        }
    }

    /// Collects what a simple command might run.
    fn collect_command(&mut self, command: &SimpleCommand, depth: usize) {
        let words = &command.words;
        let is_keyword = |word: &&Word| !word.is_quoted && KEYWORDS.contains(&word.text.as_str());
        if words.iter().any(|word| !word.is_literal) {
            // What is not known may be nothing.
            self.candidates.push(texts(words.iter().filter(|word| word.is_literal)));
        }
        let mut start = 0;
        while start < words.len() && !self.is_too_deep {
            // What a word that is not known stands for may be nothing, so a command may begin after it.
            start += words[start..].iter().take_while(|word| !word.is_literal).count();
            start += words[start..].iter().take_while(is_keyword).count();
            let run = words[start..].iter().take_while(|word| word.is_literal).count();
            let Some(first) = words.get(start).filter(|_| run > 0) else { continue };
            if WRAPPERS.contains(&base_name(&first.text)) {
                return self.collect_wrapped(&words[start..], &command.asides, depth);
            }
            self.candidates.push(texts(&words[start..start + run]));
            self.collect_texts_of(&words[start..], &command.asides, depth);
            start += run;
        }
    }

    /// Collects what a wrapper might run. Which of its arguments are options and which the command is not known, so each may
    /// begin it.
    fn collect_wrapped(&mut self, words: &[Word], asides: &[Word], depth: usize) {
        self.is_too_deep |= words.len() > MOST_STARTS;
        let count = words.len().min(MOST_STARTS);
        if !self.may_work(count * MOST_WORDS) {
            return;
        }
        for start in 0..count {
            let run = words[start..].iter().take(MOST_WORDS).take_while(|word| word.is_literal);
            let candidate: Vec<_> = run.map(|word| word.text.clone()).collect();
            if !candidate.is_empty() {
                self.candidates.push(candidate);
            }
        }
        for start in 0..count {
            if self.is_too_deep {
                return;
            }
            self.collect_texts_of(&words[start..], asides, depth);
        }
    }

    /// Collects what the first word runs of the texts after it, if it does so.
    fn collect_texts_of(&mut self, words: &[Word], asides: &[Word], depth: usize) {
        let Some((first, arguments)) = words.split_first() else { return };
        let name = base_name(&first.text);
        if SHELLS.contains(&name) {
            // What is not known of a text may be anything, but the rest of it is there. A shell also reads its input.
            let arguments: Vec<_> = texts(arguments).into_iter().chain(texts(asides)).collect();
            self.collect_texts(&arguments, depth);
        } else if name == ENV {
            for (place, word) in arguments.iter().enumerate() {
                let Some(text) = split_text(&word.text) else { continue };
                let rest = texts(&arguments[place + 1..]).join(" ");
                self.collect_text(&format!("{text} {rest}"), depth);
            }
        }
    }

    /// Collects what the arguments of a shell might run: each of them, and all of them as `eval` does.
    fn collect_texts(&mut self, texts: &[String], depth: usize) {
        for text in texts.iter().filter(|text| !text.starts_with('-')) {
            self.collect_text(text, depth);
        }
        let length = texts.iter().map(|text| text.len() + 1).sum();
        if texts.len() > 1 && self.may_work(length) {
            self.collect_text(&texts.join(" "), depth);
        }
    }

    /// Collects what a text within another might run.
    fn collect_text(&mut self, text: &str, depth: usize) {
        if self.may_work(text.len() + 1) {
            let lexed = lex(text);
            self.collect(&lexed, depth + 1);
            self.collect_lines(text, &lexed, depth + 1);
        }
    }

    /// Tells whether there is enough work left, and takes it.
    fn may_work(&mut self, work: usize) -> bool {
        match self.work_left.checked_sub(work) {
            Some(left) => self.work_left = left,
            None => {
                self.work_left = 0;
                self.is_too_deep = true;
            }
        }
        !self.is_too_deep
    }
}

/// How often a text may be read on the whole, and how much work is always allowed.
const MOST_READINGS: usize = 64;
const LEAST_WORK: usize = 1_000_000;

/// How many arguments of a wrapper may begin a command, and how many words of it are compared. Together they bound the
/// work for a line that is one long list of words.
const MOST_STARTS: usize = 1_000;
const MOST_WORDS: usize = 32;

impl PlainCommand<'_> {
    /// Tells whether the command begins with words for which `is_like` holds, one after the other.
    pub fn begins(&self, count: usize, is_like: impl Fn(usize, &str) -> bool) -> bool {
        let words = &self.0.words;
        words.len() >= count
            && words[..count]
                .iter()
                .enumerate()
                .all(|(place, word)| word.is_literal && !word.has_glob && is_like(place, &word.text))
    }

    /// Tells whether words after the first `count` have the program run or write something that those do not speak of.
    pub fn exceeds(&self, count: usize) -> bool {
        match self.0.words.as_slice() {
            [program, subcommand, ..] if program.text == "git" && count >= 2 => self.0.words[count..]
                .iter()
                .any(|word| git::is_dangerous(&subcommand.text, &word.text, word.has_glob)),
            _ => false,
        }
    }

    /// Returns the words, if all of them are literal.
    pub fn words(&self) -> Option<Vec<&str>> {
        let are_literal = self.0.words.iter().all(|word| word.is_literal && !word.has_glob);
        are_literal.then(|| self.0.words.iter().map(|word| word.text.as_str()).collect())
    }
}

fn texts<'word>(words: impl IntoIterator<Item = &'word Word>) -> Vec<String> {
    words.into_iter().map(|word| word.text.clone()).collect()
}

/// Returns the text that an option of `env` has it split into words: `-S`, `-vS…`, `--split-string=…`. It may be the next
/// argument.
fn split_text(option: &str) -> Option<&str> {
    if option.starts_with("--s") {
        return Some(option.split_once('=').map_or("", |(_, text)| text));
    }
    let letters = option.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    letters.split_once('S').map(|(_, text)| text)
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(all(test, unix))]
mod against_bash;
#[cfg(test)]
mod tests;
