//! One child: its session and the loop that drives it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bowline_core::SessionTag;
use bowline_core::ask::{Ask, AskId, Question};
use bowline_core::command::{Command, Draft, Origin, Request};
use bowline_core::event::{Event, RunOutcome};
use bowline_core::limits::Spent;
use bowline_core::reply::Reply;
use bowline_core::subagent::{Subagent, SubagentEvent, SubagentProgress, SubagentStatus, Subscription};
use bowline_core::usage::Usage;
use bowline_session::{Clock, Location};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::call::Board;
use super::observer::Observer;
use super::output_schema;
use super::roster::Watch;
use crate::agent::Agent;
use crate::input::{Input, Inputs, Output, Report, Step, Tagged};
use crate::pending::Reporter;
use crate::session::{PassedAnswer, PassedOn, Session};
use crate::tool_call_states::ToolStep;

/// How many reports of a child's tasks may wait.
const REPORT_CAPACITY: usize = 16;

/// Where a session is among subagents.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    /// 0 for a session of a client.
    pub depth: u32,
    /// The id that its parent knows it by.
    pub id: Option<Arc<str>>,
    pub watch: Watch,
}

/// What a child is made from.
#[derive(Debug)]
pub(super) struct Child {
    /// The agent with the child's own tools, model and instructions.
    pub agent: Agent,
    pub place: Place,
    pub location: Location,
    pub parent_session: Option<String>,
    /// The id of the session that started it.
    pub parent_id: String,
    pub working_directory: PathBuf,
    pub prompt: String,
    pub output_schema: Option<Value>,
    pub max_runtime: Option<Duration>,
    pub progress: SubagentProgress,
    pub call_id: String,
}

/// How a child reaches its parent.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub reporter: Reporter,
    pub board: Board,
    pub cancel: CancellationToken,
    pub clock: Clock,
}

/// What is left of a child.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub subagent: Arc<Subagent>,
    pub usage: Usage,
    /// Its answer.
    pub text: String,
    /// The file with the whole answer, if it is too long for the result.
    pub whole_text: Option<PathBuf>,
}

/// A child that is being driven.
struct Driven {
    session: Session,
    reports: mpsc::Receiver<Tagged>,
    observer: Observer,
    line: Line,
    watch: Watch,
    call_id: String,
    id: Arc<str>,
    session_file: Option<PathBuf>,
    /// Whether the client was told that the current message began.
    is_followed: bool,
    /// How the last run ended, or why it did not begin.
    outcome: Option<Result<RunOutcome, String>>,
    /// What the parent was told that the child has spent.
    reported: Spent,
    /// The questions that the parent asks the user. Dropping a guard withdraws its question.
    questions: Vec<(AskId, DropGuard)>,
    answers: (mpsc::UnboundedSender<PassedAnswer>, mpsc::UnboundedReceiver<PassedAnswer>),
}

/// Why a child is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Aborted,
    TookTooLong,
}

impl Child {
    /// Carries out the task.
    pub async fn run(self, line: Line) -> Ended {
        let Self { agent, place, working_directory, prompt, output_schema, max_runtime, call_id, .. } = self;
        let mut observer = Observer::new(self.progress, agent.clock().clone());
        let (sender, reports) = mpsc::channel(REPORT_CAPACITY);
        let inputs = Inputs::new(SessionTag::FIRST, sender);
        let opened = agent.create_at(self.location, working_directory.clone(), self.parent_session);
        let session = opened.and_then(|opened| Session::new(agent, opened, working_directory, inputs));
        let mut session = match session {
            Ok(session) => session,
            Err(refusal) => {
                observer.set_status(SubagentStatus::Failed, Some(refusal.message));
                let progress = observer.progress().clone();
                let subagent = Subagent {
                    session_file: None,
                    parent_call_id: call_id,
                    last_update: line.clock.milliseconds(),
                    progress,
                };
                return Ended {
                    subagent: Arc::new(subagent),
                    usage: Usage::default(),
                    text: String::new(),
                    whole_text: None,
                };
            }
        };
        session.share_changes_of(&self.parent_id);
        let (id, watch) = (place.id.clone().unwrap_or_default(), place.watch.clone());
        session.become_child(place);
        let session_file = session.file().map(ToOwned::to_owned);
        observer.set_status(SubagentStatus::Running, None);
        let mut driven = Driven {
            session,
            reports,
            observer,
            line,
            watch,
            call_id,
            id,
            session_file,
            is_followed: false,
            outcome: None,
            reported: Spent::default(),
            questions: Vec::new(),
            answers: mpsc::unbounded_channel(),
        };
        driven.carry_out(prompt, output_schema, max_runtime).await
    }
}

impl Driven {
    /// Carries out the task, and asks again for an answer of the right form if there is to be one.
    async fn carry_out(
        &mut self,
        prompt: String,
        schema: Option<Value>,
        max_runtime: Option<Duration>,
    ) -> Ended {
        let started = SubagentEvent::Started(self.subagent());
        self.tell(started).await;
        self.prompt(prompt);
        let mut deadline = std::pin::pin!(async move {
            match max_runtime {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        });
        let mut stop = None;
        let mut tries = output_schema::SECOND_TRIES;
        loop {
            while let Some(output) = self.session.next_output() {
                self.take(output).await;
            }
            self.report_spent().await;
            if self.session.is_idle()
                && let Some(outcome) = self.outcome.take()
            {
                match self.verdict(outcome, stop, schema.as_ref(), &mut tries, max_runtime) {
                    Ok(ended) => return self.end(ended).await,
                    Err(correction) => self.prompt(correction),
                }
                continue;
            }
            tokio::select! {
                biased;
                () = self.line.cancel.cancelled(), if stop.is_none() => {
                    stop = Some(Stop::Aborted);
                    self.session.handle(Input::Abort);
                }
                () = &mut deadline, if stop.is_none() => {
                    stop = Some(Stop::TookTooLong);
                    self.session.handle(Input::Abort);
                }
                Some(answer) = self.answers.1.recv() => {
                    self.session.handle(Input::PassedBack(Box::new(answer)));
                }
                Some(tagged) = self.reports.recv() => self.report(tagged),
            }
        }
    }

    /// Returns how the child ended and its answer, or the message that it continues with.
    fn verdict(
        &self,
        outcome: Result<RunOutcome, String>,
        stop: Option<Stop>,
        schema: Option<&Value>,
        tries: &mut u32,
        max_runtime: Option<Duration>,
    ) -> Result<(SubagentStatus, Option<String>, String), String> {
        let text = self.observer.text();
        let failed = |error: String| Ok((SubagentStatus::Failed, Some(error), text.to_owned()));
        match (outcome, stop) {
            (_, Some(Stop::TookTooLong)) => {
                let seconds = max_runtime.unwrap_or_default().as_secs();
                failed(format!(
                    "It was stopped because it took longer than {seconds} seconds (task.maxRuntimeMs)"
                ))
            }
            (_, Some(Stop::Aborted)) | (Ok(RunOutcome::Aborted), None) => {
                Ok((SubagentStatus::Aborted, None, text.to_owned()))
            }
            (Err(refusal), None) => failed(refusal),
            (Ok(RunOutcome::Failed(failure)), None) => failed(failure.text),
            (Ok(RunOutcome::Done), None) => match schema.map(|schema| output_schema::check(text, schema)) {
                None => Ok((SubagentStatus::Completed, None, text.to_owned())),
                Some(Ok(json)) => Ok((SubagentStatus::Completed, None, json.to_owned())),
                Some(Err(problem)) if *tries > 0 => {
                    *tries -= 1;
                    Err(output_schema::correction(&problem))
                }
                Some(Err(problem)) => failed(format!("Its answer does not fit the schema: {problem}")),
            },
        }
    }

    /// Tells the parent what was spent since it was last told.
    async fn report_spent(&mut self) {
        let spent = self.session.spent_for_parent();
        if spent != self.reported {
            let step = ToolStep::Spent(spent.since(&self.reported));
            self.reported = spent;
            self.line.reporter.send(Step::Tool(step)).await;
        }
    }

    fn prompt(&mut self, text: String) {
        self.observer.forget_text();
        let message = Draft { text, ..Draft::default() };
        let origin = Origin { id: None, name: "task", echo: None };
        let command = Command::Prompt { message, when_busy: None };
        self.session.handle(Input::Request(Request { origin, command }));
    }

    fn report(&mut self, tagged: Tagged) {
        match tagged.report {
            Report::Step(step) => self.session.handle(Input::Step(step)),
            Report::Extension { host, input } => self.session.handle(Input::Extension { host, input }),
            Report::HostQuestion(question) => self.session.handle(Input::HostQuestion(question)),
            // A child opens no other session, and the tools of the client belong to its parent.
            Report::Opened(_) | Report::HostCall(_) => {}
        }
    }

    /// Takes what the session has to say.
    async fn take(&mut self, output: Output) {
        let event = match output {
            Output::Event(event) => event,
            Output::Reply(Reply { result: Err(refusal), .. }) => {
                self.outcome = Some(Err(refusal.message));
                return;
            }
            // Only a client's session ends the process.
            Output::Reply(_) | Output::Quit { .. } => return,
        };
        match event {
            // Of its own subagents. Whoever is above knows them by their ids.
            Event::Subagent(event) => self.tell(event).await,
            Event::Ask(ask) => self.ask(ask).await,
            Event::ExtensionFailed(error) => {
                self.line.reporter.send(Step::Tool(ToolStep::ExtensionFailed(error))).await;
            }
            // Whoever follows no subagent has to know, too.
            Event::ProtectedPathChanged { change, .. } => {
                self.line.reporter.send(Step::Tool(ToolStep::ProtectedPathChanged(change))).await;
            }
            Event::AskResolved { id, .. } => self.questions.retain(|(open, _)| *open != id),
            Event::Settled { outcome, output } => {
                self.follow(Event::Settled { outcome: outcome.clone(), output }).await;
                self.outcome = Some(Ok(outcome));
            }
            event => {
                if self.observer.observe(&event) {
                    let subagent = self.subagent();
                    self.line.board.update(subagent);
                }
                self.follow(event).await;
            }
        }
    }

    /// Passes an event on if the client wants events, beginning with a whole message.
    async fn follow(&mut self, event: Event) {
        let is_wanted = self.watch.level() == Subscription::Events;
        match &event {
            Event::MessageStart(_) => self.is_followed = is_wanted,
            Event::MessageUpdate { .. } | Event::MessageEnd { .. } if !self.is_followed => return,
            _ => {}
        }
        if is_wanted {
            let event = SubagentEvent::Inner { id: Arc::clone(&self.id), event: Arc::new(event) };
            tokio::select! {
                biased;
                // Whoever aborts does not wait for a client that does not read.
                () = self.line.cancel.cancelled() => {}
                () = self.tell(event) => {}
            }
        }
    }

    /// Has the parent ask the user.
    async fn ask(&mut self, ask: Ask) {
        let Ask { id, mut question, .. } = ask;
        if let Question::Approval(approval) = &mut question {
            approval.reason = format!("{} (subagent {})", approval.reason, self.id);
        }
        let withdrawn = CancellationToken::new();
        self.questions.push((id, withdrawn.clone().drop_guard()));
        let passed_on = PassedOn { id, question, answers: self.answers.0.clone(), withdrawn };
        self.line.reporter.send(Step::Tool(ToolStep::Asks(passed_on))).await;
    }

    /// Ends the child.
    async fn end(&mut self, ended: (SubagentStatus, Option<String>, String)) -> Ended {
        let (status, error, text) = ended;
        self.observer.set_status(status, error);
        let subagent = self.subagent();
        self.line.board.update(Arc::clone(&subagent));
        self.tell(SubagentEvent::Ended(Arc::clone(&subagent))).await;
        Ended { subagent, usage: *self.observer.usage(), text, whole_text: None }
    }

    async fn tell(&self, event: SubagentEvent) {
        self.line.reporter.send(Step::Tool(ToolStep::Subagent(event))).await;
    }

    fn subagent(&mut self) -> Arc<Subagent> {
        Arc::new(Subagent {
            session_file: self.session_file.clone(),
            parent_call_id: self.call_id.clone(),
            last_update: self.line.clock.milliseconds(),
            progress: self.observer.progress().clone(),
        })
    }
}
