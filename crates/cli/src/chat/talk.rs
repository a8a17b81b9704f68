//! The conversation: what the user types goes to the agent, what the agent does is shown.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bowline_client::{
    Client, Error, Event, ExtensionUiRequestRecord, ImageInput, LastText, NotifyType, PromptCommand,
    StreamingBehavior,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::activity::Activity;
use super::commands::{self, Action, COMMANDS, Choice, Command, Finished};
use super::completion::{existing, named_files};
use super::line_editor::{Next, SharedKnown, Typed};
use super::markdown::Markdown;
use super::questions::{Outcome, Question};
use super::screen::{Screen, print_plainly};
use super::style::Style;
use crate::environment::Environment;
use crate::one_shot::Attachments;
use crate::similar::nearest;
use crate::terminal::{hanging, plain};

/// How often the spinner turns.
const TICK: Duration = Duration::from_millis(250);

/// How much of the last answer is shown when a conversation goes on.
const LAST_ROWS: usize = 20;

/// Where the help says what a command does.
const COMMAND_COLUMN: usize = 21;

/// What a conversation is made of.
pub(super) struct Parts {
    pub client: Client,
    pub screen: Screen,
    pub next: Next,
    pub typed: UnboundedReceiver<Typed>,
    pub asked: UnboundedReceiver<Question>,
    pub known: SharedKnown,
    pub environment: Arc<Environment>,
}

/// The conversation.
pub(super) struct Talk {
    client: Client,
    screen: Screen,
    activity: Activity,
    next: Next,
    known: SharedKnown,
    environment: Arc<Environment>,
    /// The names of the commands of extensions, templates and skills, with their slash; none until they are known.
    passed_on: Option<Vec<String>>,
    /// What is asked, the first of which the next line answers.
    questions: VecDeque<Question>,
    /// Whether Ctrl-C on an empty line was the last thing that the user did.
    is_leaving: bool,
    results: UnboundedSender<Done>,
}

/// What a task has come to.
enum Done {
    Command(Result<Finished, Error>),
    /// A message was accepted or refused.
    Sent(Result<(), Error>),
    /// An abort was refused.
    Refused(Error),
    State(String),
    Learned {
        commands: Vec<String>,
        models: Vec<String>,
    },
}

/// How a conversation has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    ByUser,
    OfAgent,
    FromOutside,
}

/// Whether the conversation goes on.
enum Turn {
    GoOn,
    End,
}

/// Talks until the user ends it or the agent does.
pub(super) async fn talk(parts: Parts, first: Option<String>) -> End {
    let Parts { client, screen, next, mut typed, mut asked, known, environment } = parts;
    let (results, mut done) = tokio::sync::mpsc::unbounded_channel();
    let activity = Activity::new(screen.clone());
    let mut events = client.events();
    let mut talk = Talk {
        client,
        screen,
        activity,
        next,
        known,
        environment,
        passed_on: None,
        questions: VecDeque::new(),
        is_leaving: false,
        results,
    };
    talk.show_last_answer().await;
    talk.learn();
    if let Some(first) = first {
        talk.activity.show(Style::Bold, &format!("› {first}"));
        talk.send(first);
    }
    talk.read_line("");
    let mut outside = std::pin::pin!(ended_from_outside());
    let mut ticks = tokio::time::interval(TICK);
    let (end, error) = loop {
        tokio::select! {
            event = events.next() => match event {
                Ok(Some(event)) => talk.take(event),
                Ok(None) => break (End::OfAgent, None),
                Err(error) => break (End::OfAgent, Some(error.to_string())),
            },
            () = &mut outside => break (End::FromOutside, None),
            Some(question) = asked.recv() => talk.ask(question),
            Some(done) = done.recv() => talk.finished(done),
            typed = typed.recv() => match talk.typed(typed.unwrap_or(Typed::End)) {
                Turn::GoOn => {}
                Turn::End => break (End::ByUser, None),
            },
            // A question that nobody waits for any more is only found by looking.
            _ = ticks.tick(), if talk.activity.is_busy() || !talk.questions.is_empty() => talk.activity.tick(),
        }
        talk.drop_expired();
    };
    talk.screen.end(end != End::ByUser);
    if end != End::ByUser {
        // A line was being typed.
        print_plainly("\n");
    }
    if let Some(error) = error {
        print_plainly(&format!("{}\n", talk.screen.palette.paint(Style::Bad, &plain(&error))));
    }
    talk.client.stop().await;
    end
}

/// Waits until somebody else wants the process to end, so that the agent and the terminal are left in order.
#[cfg(unix)]
async fn ended_from_outside() {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit()];
    let [Ok(mut terminate), Ok(mut hang_up), Ok(mut interrupt), Ok(mut quit)] = kinds.map(signal) else {
        return std::future::pending().await;
    };
    // Ctrl-C is a key here. An interrupt by another program is taken for it while a line is read.
    tokio::select! {
        _ = terminate.recv() => {}
        _ = hang_up.recv() => {}
        _ = interrupt.recv() => {}
        _ = quit.recv() => {}
    }
}

#[cfg(not(unix))]
async fn ended_from_outside() {
    std::future::pending().await
}

impl Talk {
    /// Shows where a conversation is that goes on.
    async fn show_last_answer(&self) {
        let Ok(LastText { text: Some(text), .. }) = self.client.connection().get_last_assistant_text().await
        else {
            return;
        };
        let mut markdown = Markdown::new(self.screen.palette, self.screen.width());
        let mut rows = markdown.feed(&text);
        rows.extend(markdown.finish());
        let surplus = rows.len().saturating_sub(LAST_ROWS);
        let title = if surplus > 0 { "(the end of the last answer)" } else { "(the last answer)" };
        self.activity.show(Style::Faint, title);
        self.screen.show(&rows[surplus..]);
    }

    /// Learns what can be typed.
    fn learn(&self) {
        let own: Vec<_> = COMMANDS.iter().map(|command| command.name.to_owned()).collect();
        self.known.lock().unwrap_or_else(PoisonError::into_inner).commands = own;
        let (connection, results) = (self.client.connection(), self.results.clone());
        tokio::spawn(async move {
            // Extensions may take a while to start.
            let commands = connection.get_commands().await.map(|found| found.commands).unwrap_or_default();
            let models =
                connection.get_available_models().await.map(|found| found.models).unwrap_or_default();
            let commands = commands.iter().map(|command| format!("/{}", command.name)).collect();
            let models = models.iter().map(commands::full_name).collect();
            let _ = results.send(Done::Learned { commands, models });
        });
        self.look_at_state();
    }

    fn learned(&mut self, commands: Vec<String>, models: Vec<String>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.commands.extend(commands.iter().cloned());
        known.models = models;
        drop(known);
        self.passed_on = Some(commands);
    }

    /// Has the row above the line show the model and how full its window is.
    fn look_at_state(&self) {
        let (connection, results) = (self.client.connection(), self.results.clone());
        tokio::spawn(async move {
            let Ok(state) = connection.get_state().await else { return };
            let model =
                state.model.as_ref().map_or_else(|| "no model: /model".to_owned(), commands::full_name);
            let percent =
                state.context_usage.and_then(|usage| usage.percent).filter(|percent| *percent >= 1.0);
            let full = percent.map(|percent| format!(" · {percent:.0} % of its window")).unwrap_or_default();
            let _ = results.send(Done::State(format!("{model}{full}")));
        });
    }

    fn read_line(&self, initial: &str) {
        // The editor lives as long as the process.
        let _ = self.next.send(initial.to_owned());
    }

    fn take(&mut self, event: Event) {
        self.activity.take(&event);
        match event {
            Event::AgentSettled(_) | Event::CompactionEnd(_) => self.look_at_state(),
            Event::ExtensionUiRequest(request) => self.show_request(&request),
            _ => {}
        }
    }

    /// Shows what an extension shows without asking.
    fn show_request(&mut self, request: &ExtensionUiRequestRecord) {
        match request {
            ExtensionUiRequestRecord::Notify(it) => {
                let style = match it.notify_type {
                    Some(NotifyType::Error) => Style::Bad,
                    Some(NotifyType::Warning) => Style::Question,
                    _ => Style::Plain,
                };
                self.activity.show(style, &it.message);
            }
            ExtensionUiRequestRecord::SetStatus(it) => {
                if let Some(text) = &it.status_text {
                    self.activity.show(Style::Faint, text);
                }
            }
            _ => {}
        }
    }

    /// Asks a question, once those before it are answered.
    fn ask(&mut self, question: Question) {
        self.questions.push_back(question);
        if self.questions.len() == 1 {
            self.show_question();
        }
    }

    fn show_question(&mut self) {
        self.activity.set_asking(!self.questions.is_empty());
        if let Some(question) = self.questions.front() {
            self.screen.show(&question.rows(self.screen.palette, self.screen.width()));
        }
    }

    /// Drops the questions that nobody waits for any more.
    fn drop_expired(&mut self) {
        let is_first_over = self.questions.front().is_some_and(Question::is_over);
        self.questions.retain(|question| !question.is_over());
        if is_first_over {
            self.activity.show(Style::Faint, "(that is not asked any more)");
            self.show_question();
        }
    }

    fn typed(&mut self, typed: Typed) -> Turn {
        let was_leaving = std::mem::take(&mut self.is_leaving);
        match typed {
            Typed::End => return Turn::End,
            Typed::Interrupted { was_empty } => {
                if let Some(question) = self.questions.pop_front() {
                    self.activity.show(Style::Faint, question.refuse());
                    self.show_question();
                } else if self.activity.is_busy() {
                    if !self.activity.is_running() {
                        self.activity.show(Style::Bad, "stopped");
                    }
                    self.abort();
                } else if was_empty && was_leaving {
                    return Turn::End;
                } else if was_empty {
                    self.is_leaving = true;
                    self.activity.show(Style::Faint, "Ctrl-C once more ends the conversation.");
                }
                self.read_line("");
            }
            Typed::Line(line) => return self.line(line),
        }
        Turn::GoOn
    }

    fn line(&mut self, line: String) -> Turn {
        if line.trim().is_empty() {
            self.read_line("");
            return Turn::GoOn;
        }
        let (name, argument) = commands::split(line.trim());
        if commands::find(name).is_some() && matches!(self.questions.front(), Some(Question::Choice(_))) {
            // The user has changed their mind.
            self.questions.pop_front();
            self.show_question();
        } else if let Some(question) = self.questions.pop_front() {
            self.answer(question, &line);
            return Turn::GoOn;
        }
        if let Some(command) = commands::find(name) {
            return self.command(command.action, argument);
        }
        // Until it is known which commands there are, the agent decides.
        let is_unknown = |known: &Vec<String>| !known.iter().any(|known| known == name);
        if self.passed_on.as_ref().is_some_and(is_unknown) && commands::is_command(line.trim()) {
            let known = COMMANDS.iter().map(|command| command.name);
            let known = known.chain(self.passed_on.iter().flatten().map(String::as_str));
            let hint = nearest(name, known).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            self.activity.show(Style::Bad, &format!("There is no command {name}{hint} (/help lists them)"));
        } else {
            self.send(line);
        }
        self.read_line("");
        Turn::GoOn
    }

    fn answer(&mut self, question: Question, line: &str) {
        match question.answer(line) {
            Outcome::Answered => {
                self.show_question();
                self.read_line("");
            }
            Outcome::Unclear(question, problem) => {
                self.activity.show(Style::Question, &problem);
                self.questions.push_front(question);
                self.read_line("");
            }
            Outcome::Chosen(choice, index) => {
                self.choose(choice, index);
                self.show_question();
            }
        }
    }

    /// Carries out a command. The next line is read when it is done, unless it takes long.
    fn command(&mut self, action: Action, argument: &str) -> Turn {
        match action {
            Action::Quit => return Turn::End,
            Action::Help => {
                self.help();
                self.read_line("");
                return Turn::GoOn;
            }
            _ => {}
        }
        let (connection, results, argument) =
            (self.client.connection(), self.results.clone(), argument.to_owned());
        tokio::spawn(async move {
            let result = commands::carry_out(&connection, action, &argument).await;
            let _ = results.send(Done::Command(result));
        });
        // What follows from it is shown above the next line; only a choice begins that line with something.
        self.read_line("");
        Turn::GoOn
    }

    fn choose(&mut self, choice: Choice, index: usize) {
        let (connection, results) = (self.client.connection(), self.results.clone());
        let next = self.next.clone();
        tokio::spawn(async move {
            let result = commands::choose(&connection, &choice, index).await;
            let initial = result.as_ref().map(|finished| finished.initial.clone()).unwrap_or_default();
            let _ = results.send(Done::Command(result));
            // The line begins with the message that is to be changed.
            let _ = next.send(initial);
        });
    }

    fn finished(&mut self, done: Done) {
        let done = match done {
            Done::Sent(sent) => {
                self.activity.set_sending(false);
                match sent {
                    Ok(()) => return,
                    Err(error) => Done::Refused(error),
                }
            }
            done => done,
        };
        match done {
            Done::Sent(_) => {}
            Done::Command(Ok(finished)) => {
                for row in &finished.rows {
                    self.activity.show(Style::Plain, row);
                }
                if let Some(choice) = finished.choice {
                    self.ask(Question::Choice(choice));
                }
                self.look_at_state();
            }
            Done::Command(Err(error)) | Done::Refused(error) => {
                let text = match error {
                    Error::Refused { message, .. } => message,
                    error => error.to_string(),
                };
                self.activity.show(Style::Bad, &text);
            }
            Done::State(text) => self.activity.set_at_rest(&text),
            Done::Learned { commands, models } => self.learned(commands, models),
        }
    }

    fn help(&self) {
        let width = self.screen.width().max(COMMAND_COLUMN + 20);
        let row = |command: &Command| {
            let named = format!("{} {}", command.name, command.argument);
            let mut row = format!("  {named:<0$}", COMMAND_COLUMN - 2);
            hanging(&mut row, command.about, COMMAND_COLUMN, width);
            row
        };
        let mut rows: Vec<_> = COMMANDS.iter().map(row).collect();
        if let Some(others) = self.passed_on.as_ref().filter(|others| !others.is_empty()) {
            rows.push(format!("  of extensions, templates and skills: {}", others.join(" ")));
        }
        rows.push("  @path adds a file; Tab completes; \\ at the end continues the line".to_owned());
        rows.push("  while the agent works: a line steers it, Ctrl-C stops it".to_owned());
        for row in rows {
            self.activity.show(Style::Plain, &row);
        }
    }

    /// Sends a message. During a run it steers.
    fn send(&mut self, message: String) {
        let environment = Arc::clone(&self.environment);
        let (connection, results) = (self.client.connection(), self.results.clone());
        if self.activity.is_running() {
            self.activity.show(Style::Faint, "(the agent reads this after what it is doing)");
        }
        tokio::spawn(async move {
            let prompt = tokio::task::spawn_blocking(move || prompt(&message, &environment)).await;
            let sent = match prompt {
                Ok(prompt) => connection.call(prompt).await.map(drop),
                // It was stopped with the program.
                Err(_) => Ok(()),
            };
            let _ = results.send(Done::Sent(sent));
        });
        self.activity.set_sending(true);
    }

    fn abort(&self) {
        let (connection, results) = (self.client.connection(), self.results.clone());
        tokio::spawn(async move {
            if let Err(error) = connection.abort().await {
                let _ = results.send(Done::Refused(error));
            }
        });
    }
}

/// Returns a message with the files that it names.
fn prompt(message: &str, environment: &Environment) -> PromptCommand {
    let files = named_files(message, |path| existing(&environment.expand(path)));
    let paths: Vec<_> = files.iter().map(|path| path.display().to_string()).collect();
    // A file that cannot be read is named in the message all the same.
    let attachments = Attachments::read(&paths, environment).unwrap_or_default();
    let (text, images) = attachments.before(message);
    let images: Vec<_> =
        images.into_iter().map(|(data, mime_type)| ImageInput::new(data, mime_type)).collect();
    PromptCommand {
        images: Some(images).filter(|images| !images.is_empty()),
        streaming_behavior: Some(StreamingBehavior::Steer),
        ..PromptCommand::new(text)
    }
}
