//! What an extension asks while it logs the user in: questions on the terminal, or answered line by line from a pipe.

use std::collections::VecDeque;
use std::future::pending;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::thread;

use bowline_core::ui::{Dialog, DialogAnswer, DialogKind, Display};
use bowline_engine::ExtensionInput;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::terminal::{note, plain};

/// The longest line that is read: far more than any answer.
const LONGEST: u64 = 64 * 1024;

/// The most questions that wait at once. Further ones are not asked.
const MOST_QUESTIONS: usize = 20;

/// A question that was not answered yet.
struct Question {
    dialog: Dialog,
    cancel: CancellationToken,
    deadline: Option<Instant>,
    reply: oneshot::Sender<DialogAnswer>,
}

/// The questions of a login, which are asked one after the other.
#[derive(Default)]
pub(super) struct Dialogs {
    questions: VecDeque<Question>,
    /// The lines of stdin, once one is needed.
    lines: Option<UnboundedReceiver<String>>,
}

impl Dialogs {
    /// Takes what an extension sends: shows it, or asks the user.
    pub fn take(&mut self, input: ExtensionInput) {
        match input {
            ExtensionInput::Dialog { dialog, cancel, reply } => {
                if self.questions.len() >= MOST_QUESTIONS {
                    drop(reply.send(DialogAnswer::Cancelled));
                    return;
                }
                let deadline = dialog.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
                self.questions.push_back(Question { dialog, cancel, deadline, reply });
                if self.questions.len() == 1 {
                    self.ask();
                }
            }
            ExtensionInput::Display(Display::Notify { message, .. }) => note(message),
            ExtensionInput::Display(Display::OpenUrl(page)) => {
                let instructions = page.instructions.as_deref().unwrap_or("Open this page in a browser:");
                note(format_args!("{instructions}\n  {}", page.url));
            }
            ExtensionInput::Failed(error) => {
                note(format_args!("bowline: extension {}: {}", error.extension, error.error));
            }
            // There is no session. Whoever waits for a reply learns that it will not come.
            _ => {}
        }
    }

    /// Waits until the question in front is answered or is no longer asked; for ever if there is none.
    pub async fn advance(&mut self) {
        let (Some(question), Some(lines)) = (self.questions.front(), &mut self.lines) else {
            return pending().await;
        };
        let time_is_up = async {
            match question.deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => pending().await,
            }
        };
        let answer = tokio::select! {
            biased;
            () = question.cancel.cancelled() => None,
            () = time_is_up => None,
            line = lines.recv() => Some(line),
        };
        match answer {
            None => {
                note("(the answer is no longer needed)");
                self.close(DialogAnswer::Cancelled);
            }
            // At the end of the input nobody answers any more.
            Some(None) => self.close(DialogAnswer::Cancelled),
            Some(Some(line)) => match answer_of(&question.dialog.kind, line.trim()) {
                Ok(answer) => self.close(answer),
                Err(problem) => {
                    note(problem);
                    self.ask();
                }
            },
        }
    }

    /// Answers the question in front and asks the next one.
    fn close(&mut self, answer: DialogAnswer) {
        if let Some(question) = self.questions.pop_front() {
            drop(question.reply.send(answer));
        }
        self.ask();
    }

    /// Asks the question in front.
    fn ask(&mut self) {
        let Some(Question { dialog, .. }) = self.questions.front() else { return };
        eprint(&text_of(dialog));
        self.lines.get_or_insert_with(read_lines);
    }
}

/// Returns a question as it is asked.
fn text_of(dialog: &Dialog) -> String {
    let title = &dialog.title;
    match &dialog.kind {
        DialogKind::Select { options, descriptions } => {
            let mut text = format!("{title}\n");
            for (index, option) in options.iter().enumerate() {
                let about = descriptions.get(index).and_then(Option::as_deref);
                let about = about.map(|about| format!(" ({about})")).unwrap_or_default();
                text.push_str(&format!("  {}. {option}{about}\n", index + 1));
            }
            text + &format!("Number (1-{}): ", options.len())
        }
        DialogKind::Confirm { message } if message.is_empty() => format!("{title} (y/n): "),
        DialogKind::Confirm { message } => format!("{title}\n{message} (y/n): "),
        DialogKind::Input { placeholder: Some(placeholder) } if !placeholder.is_empty() => {
            format!("{title} (such as {placeholder}): ")
        }
        DialogKind::Input { .. } | DialogKind::Editor { .. } => format!("{title}: "),
    }
}

/// Returns what a line means as an answer, or what is wrong with it.
fn answer_of(kind: &DialogKind, line: &str) -> Result<DialogAnswer, String> {
    match kind {
        DialogKind::Select { options, .. } => {
            let number = line.parse().ok().and_then(|number: usize| options.get(number.checked_sub(1)?));
            let chosen = number.or_else(|| options.iter().find(|option| *option == line));
            let chosen = chosen.map(|option| DialogAnswer::Value(option.clone()));
            chosen.ok_or_else(|| format!("Enter a number from 1 to {}.", options.len()))
        }
        DialogKind::Confirm { .. } => match line.to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(DialogAnswer::Confirmed(true)),
            "n" | "no" => Ok(DialogAnswer::Confirmed(false)),
            _ => Err("Enter y or n.".to_owned()),
        },
        DialogKind::Input { .. } | DialogKind::Editor { .. } => Ok(DialogAnswer::Value(line.to_owned())),
    }
}

/// Writes a question to stderr, with its control characters escaped. That nobody reads stderr is no reason to fail.
fn eprint(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(plain(text).as_bytes()).and_then(|()| stderr.flush());
}

/// Reads lines on a thread of its own: a line that is being waited for cannot be given up.
fn read_lines() -> UnboundedReceiver<String> {
    let (sender, receiver) = unbounded_channel();
    let read = move || {
        loop {
            let mut line = String::new();
            match io::stdin().lock().take(LONGEST).read_line(&mut line) {
                Ok(1..) if sender.send(line).is_ok() => {}
                _ => break,
            }
        }
    };
    // Without a thread nothing can be answered, which ends the login.
    drop(thread::Builder::new().name("answers".to_owned()).spawn(read));
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_chosen_by_number_or_name() {
        let kind = DialogKind::Select { options: vec!["A".into(), "B".into()], descriptions: Vec::new() };
        let value = |text: &str| Ok(DialogAnswer::Value(text.to_owned()));
        for (line, expected) in [("2", value("B")), ("A", value("A"))] {
            assert_eq!(answer_of(&kind, line), expected);
        }
        for line in ["0", "3", "", "b"] {
            assert_eq!(answer_of(&kind, line).unwrap_err(), "Enter a number from 1 to 2.");
        }
    }

    #[test]
    fn questions_show_what_can_be_answered() {
        let options = vec!["Work".to_owned(), "Home".to_owned()];
        let descriptions = vec![Some("paid".to_owned()), None];
        let dialog = |kind| Dialog { kind, title: "Account".to_owned(), timeout: None };
        assert_eq!(
            text_of(&dialog(DialogKind::Select { options, descriptions })),
            "Account\n  1. Work (paid)\n  2. Home\nNumber (1-2): "
        );
        let placeholder = Some("example.com".to_owned());
        assert_eq!(text_of(&dialog(DialogKind::Input { placeholder })), "Account (such as example.com): ");
    }
}
