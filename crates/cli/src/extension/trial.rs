//! Starts extensions outside of a session, with the host that sessions use, and stands in for the session.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bowline_core::reply::{Refusal, RefusalCode};
use bowline_core::slash_command::SlashCommand;
use bowline_core::thinking::ThinkingLevel;
use bowline_core::ui::{Dialog, DialogAnswer, DialogKind, ExtensionError};
use bowline_engine::{
    Attached, DetachedSession, Extension, ExtensionInput, Mirror, OfferedTool, SessionContext,
};
use bowline_extension_host::{Direction, Plan};
use bowline_llm::Providers;
use futures_util::FutureExt as _;
use serde_json::Value;

use super::sample_events::Samples;
use crate::detached_extensions::{LONGEST_STOP, attach};

/// The most lines that are kept of one step.
const MOST_LINES: usize = 1000;

/// A line that bowline and an extension exchanged.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub direction: Direction,
    pub text: String,
}

/// Extensions without a session.
pub(super) struct Trial {
    attached: Box<dyn Attached>,
    session: DetachedSession,
    pub samples: Samples,
    pub directory: PathBuf,
    /// What the extensions offer, by their names.
    pub tools: BTreeMap<Arc<str>, Vec<OfferedTool>>,
    pub commands: BTreeMap<Arc<str>, Vec<SlashCommand>>,
    /// What the client of a session would be told of.
    problems: Vec<ExtensionError>,
    is_ready: bool,
    /// Whether dialogs are answered as by somebody who agrees to everything, or closed.
    pub user_agrees: bool,
    /// The models, with those of the extensions.
    pub providers: Providers,
    lines: Arc<Mutex<Vec<Line>>>,
}

impl Trial {
    /// Starts the extensions of a plan. Returns `None` if there are none.
    pub fn start(mut plan: Plan, providers: Providers, directory: PathBuf, samples: Samples) -> Option<Self> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        plan.trace = Some(Box::new(move |_, direction, text| {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() < MOST_LINES {
                kept.push(Line { direction, text: text.to_owned() });
            }
        }));
        // What is reported is shown with the rest.
        plan.report = Box::new(|_| {});
        let (attached, session) = attach(plan, &providers, &directory, "trial")?;
        Some(Self {
            attached,
            session,
            samples,
            directory,
            tools: BTreeMap::new(),
            commands: BTreeMap::new(),
            problems: Vec::new(),
            is_ready: false,
            user_agrees: true,
            providers,
            lines,
        })
    }

    /// Waits until every extension has registered or failed, and tells them what a session would. Returns how long it
    /// took.
    pub async fn become_ready_timed(&mut self) -> Duration {
        let start = Instant::now();
        while !self.is_ready {
            let Some(input) = self.session.next().await else { break };
            self.take(input);
        }
        let took = start.elapsed();
        let mirror = Arc::new(self.mirror());
        for extension in self.extensions() {
            extension.mirror(&mirror, &[]);
        }
        took
    }

    /// Returns the extensions that were started.
    pub fn extensions(&self) -> Vec<Arc<dyn Extension>> {
        self.attached.extensions()
    }

    /// Waits for something that an extension does, answers what it asks meanwhile, and returns how long it took.
    pub async fn during<T>(&mut self, work: impl Future<Output = T>) -> (T, Duration) {
        let start = Instant::now();
        let mut work = pin!(work);
        let result = loop {
            tokio::select! {
                biased;
                input = self.session.next() => match input {
                    Some(input) => self.take(input),
                    None => break work.await,
                },
                result = &mut work => break result,
            }
        };
        let elapsed = start.elapsed();
        while let Some(Some(input)) = self.session.next().now_or_never() {
            self.take(input);
        }
        (result, elapsed)
    }

    /// Takes the lines that were exchanged since they were last taken.
    pub fn take_lines(&self) -> Vec<Line> {
        std::mem::take(&mut *self.lines.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes what was reported as wrong since it was last taken.
    pub fn take_problems(&mut self) -> Vec<ExtensionError> {
        std::mem::take(&mut self.problems)
    }

    /// Takes what was reported as wrong with one extension.
    pub fn problems_of(&mut self, name: &str) -> Vec<ExtensionError> {
        let (its, others) = self.take_problems().into_iter().partition(|problem| problem.extension == name);
        self.problems = others;
        its
    }

    /// Ends the extensions.
    pub async fn stop(&mut self) {
        let stop = tokio::time::timeout(LONGEST_STOP, self.attached.stop());
        let _ = self.during(stop).await;
    }

    fn mirror(&self) -> Mirror {
        Mirror {
            model: Some(Arc::clone(self.samples.model())),
            thinking_level: ThinkingLevel::Off,
            scoped_models: Arc::default(),
            is_idle: true,
            has_pending_messages: false,
            active_tools: ["read", "bash", "edit", "write"].map(ToOwned::to_owned).into(),
            all_tools: Arc::default(),
            commands: Arc::default(),
            session_name: Some("a trial".to_owned()),
            session_id: "trial".to_owned(),
            session_file: None,
            directory: self.directory.clone(),
            leaf: None,
            context: None,
            screen: Some(bowline_core::ui::Screen { columns: 80, rows: 24 }),
        }
    }

    /// Does what a session would do, as far as it makes sense without one. Requests and notifications are among the lines.
    fn take(&mut self, input: ExtensionInput) {
        match input {
            ExtensionInput::Ready => self.is_ready = true,
            ExtensionInput::Tools { extension, tools } => drop(self.tools.insert(extension, tools)),
            ExtensionInput::Commands { extension, commands } => {
                self.commands.insert(extension, commands);
            }
            ExtensionInput::Failed(error) => self.problems.push(error),
            ExtensionInput::Dialog { dialog, reply, .. } => {
                let answer = if self.user_agrees { answer(&dialog) } else { DialogAnswer::Cancelled };
                drop(reply.send(answer));
            }
            ExtensionInput::Command { reply, .. } => {
                let message = "there is no session: the extension is only tried out".to_owned();
                drop(reply.send(Err(Refusal { code: RefusalCode::SessionUnavailable, message })));
            }
            ExtensionInput::WaitIdle { reply } => drop(reply.send(())),
            ExtensionInput::GetContext { reply } => drop(reply.send(SessionContext {
                system_prompt: "You are a coding agent.".into(),
                parts: Arc::default(),
                messages: self.samples.messages(),
            })),
            ExtensionInput::FindTool { reply, .. } => drop(reply.send(None)),
            ExtensionInput::Reload { reply, .. } => drop(reply.send(Ok(()))),
            ExtensionInput::Changed
            | ExtensionInput::SetActiveTools { .. }
            | ExtensionInput::Display(_)
            | ExtensionInput::SendMessage { .. }
            | ExtensionInput::SendUserMessage { .. }
            | ExtensionInput::AppendEntry { .. }
            | ExtensionInput::Shutdown
            | ExtensionInput::GiveUp => {}
        }
    }
}

/// Answers a dialog as somebody would who agrees to everything.
fn answer(dialog: &Dialog) -> DialogAnswer {
    match &dialog.kind {
        DialogKind::Select { options, .. } => match options.first() {
            Some(first) => DialogAnswer::Value(first.clone()),
            None => DialogAnswer::Cancelled,
        },
        DialogKind::Confirm { .. } => DialogAnswer::Confirmed(true),
        DialogKind::Input { placeholder } => {
            DialogAnswer::Value(placeholder.clone().unwrap_or_else(|| "sample".to_owned()))
        }
        DialogKind::Editor { prefill, .. } => {
            DialogAnswer::Value(prefill.clone().unwrap_or_else(|| "sample".to_owned()))
        }
    }
}

impl Line {
    /// Returns the record, if the line is one.
    pub fn record(&self) -> Option<Value> {
        serde_json::from_str(&self.text).ok()
    }
}
