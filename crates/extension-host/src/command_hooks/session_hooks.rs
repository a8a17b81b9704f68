//! The hooks of a session, as one extension of it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_core::hook::{CustomMessageDraft, HookEvent, HookKind, HookResult, Subscription};
use bowline_core::message::Content;
use bowline_core::ui::{Display, ExtensionError, NotifyLevel};
use bowline_engine::{About, Delivery, Extension, ExtensionInput, Mirror, SessionLink};
use bowline_tools::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::answer::Answer;
use super::config::{ConfigWarning, HookConfig};
use super::event::HookEventName;
use super::payload::{self, Common};
use super::runner::{Answered, Occasion, Runner};
use super::tools::{ForeignCall, Place, names_of};
use super::verdict::Verdict;

/// The longest time for which a command may run, unless its hook is more urgent.
const NO_LIMIT: Duration = Duration::MAX;

/// What messages of hooks are called in the conversation.
const MESSAGE_TYPE: &str = "command_hook";

/// The longest part of a command that a warning names.
const LONGEST_COMMAND: usize = 100;

/// Whoever takes what hooks send: a session.
pub(super) trait Recipient: fmt::Debug + Send + Sync {
    /// Sends something and waits for room. Returns whether it can still be received.
    fn send(&self, input: ExtensionInput) -> BoxFuture<'_, bool>;
}

impl Recipient for SessionLink {
    fn send(&self, input: ExtensionInput) -> BoxFuture<'_, bool> {
        Box::pin(self.send(input))
    }
}

/// The hooks of a session.
#[derive(Debug, Clone)]
pub(super) struct SessionHooks(Arc<Shared>);

/// What the hooks of a session share.
#[derive(Debug)]
pub(super) struct Shared {
    about: About,
    home: Option<PathBuf>,
    recipient: Box<dyn Recipient>,
    pub runner: Runner,
    config: Mutex<Arc<HookConfig>>,
    /// Knows the hooks of other folders; absent if all have the same.
    loader: Option<Arc<dyn Loader>>,
    /// The folder that the hooks were read for.
    loaded_for: Mutex<Option<PathBuf>>,
    pub memory: Mutex<Memory>,
    /// Whether it was reported that too many commands run in the background.
    told_of_flood: AtomicBool,
}

/// Whoever knows the hooks of a folder.
pub(super) trait Loader: fmt::Debug + Send + Sync {
    /// Returns the hooks of sessions in a folder. Blocks. Its warnings are new.
    fn load(&self, directory: &Path) -> HookConfig;
}

/// What is remembered between hooks.
#[derive(Debug, Default)]
pub(super) struct Memory {
    mirror: Option<Arc<Mirror>>,
    /// How often in a row the model was sent back to work.
    pub stops: u32,
    /// The text of the model's last answer.
    pub last_answer: String,
}

/// What commands are asked.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub event: HookEventName,
    pub hook: HookKind,
    /// What matchers look at.
    pub names: &'a [&'a str],
    /// The fields of the event.
    pub fields: Value,
    /// The call that conditions are about.
    pub call: Option<&'a ForeignCall>,
}

impl SessionHooks {
    pub fn new(
        about: About,
        home: Option<PathBuf>,
        recipient: Box<dyn Recipient>,
        runner: Runner,
        config: Arc<HookConfig>,
        loader: Option<Arc<dyn Loader>>,
    ) -> Self {
        Self(Arc::new(Shared {
            about,
            home,
            recipient,
            runner,
            config: Mutex::new(config),
            loader,
            loaded_for: Mutex::default(),
            memory: Mutex::default(),
            told_of_flood: AtomicBool::new(false),
        }))
    }

    /// Reports mistakes in the settings.
    pub async fn report(&self, warnings: &[ConfigWarning]) {
        self.0.report(warnings).await;
    }

    /// Tells the session that there is nothing more to wait for.
    pub async fn ready(&self) {
        self.0.recipient.send(ExtensionInput::Ready).await;
    }
}

impl Extension for SessionHooks {
    fn name(&self) -> Arc<str> {
        "hook".into()
    }

    fn subscription(&self, hook: HookKind, tool: Option<&str>) -> Subscription {
        let config = self.0.config();
        let has = |event: &HookEventName| {
            event.comes_from(hook)
                && match tool {
                    Some(tool) if event.is_of_tool() => config.has(*event, &names_of(tool)),
                    _ => config.has_any(*event),
                }
        };
        match hook {
            // The session may be in another folder from then on.
            HookKind::SessionStart if self.0.loader.is_some() => Subscription::Awaited,
            // What a Stop hook needs to know.
            HookKind::TurnEnd | HookKind::AgentSettled if config.has_any(HookEventName::Stop) => {
                Subscription::Told
            }
            HookKind::UiNotify | HookKind::UiPromptStart if config.has_any(HookEventName::Notification) => {
                Subscription::Told
            }
            _ if HookEventName::ALL.iter().any(has) => Subscription::Awaited,
            _ => Subscription::None,
        }
    }

    fn tell(&self, event: &HookEvent) {
        let (message, kind) = match event {
            HookEvent::TurnEnd { message, .. } => {
                if let Some(text) = payload::answer_text(message) {
                    self.0.memory().last_answer = text;
                }
                return;
            }
            HookEvent::AgentSettled { .. } => {
                self.0.memory().stops = 0;
                return;
            }
            HookEvent::UiNotify { message, level } => (message, level.unwrap_or(NotifyLevel::Info).as_str()),
            HookEvent::UiPromptStart { kind, title } => (title, payload::notification_of(kind)),
            _ => return,
        };
        let fields = json!({"message": message, "notification_type": kind});
        let (shared, hook) = (Arc::clone(&self.0), event.kind());
        let started = self.0.runner.start(async move {
            let asked =
                Asked { event: HookEventName::Notification, hook, names: &[kind], fields, call: None };
            shared.ask(asked, NO_LIMIT, &CancellationToken::new()).await;
        });
        if !started {
            self.0.report_flood(HookEventName::Notification, event.kind());
        }
    }

    fn call(
        &self,
        event: Arc<HookEvent>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<HookResult, String>> {
        let shared = Arc::clone(&self.0);
        Box::pin(async move { Ok(shared.called(Arc::unwrap_or_clone(event), &cancel).await) })
    }

    fn mirror(&self, session: &Arc<Mirror>, _entries: &[Arc<str>]) {
        self.0.memory().mirror = Some(Arc::clone(session));
    }
}

impl Shared {
    pub fn config(&self) -> Arc<HookConfig> {
        Arc::clone(&lock(&self.config))
    }

    pub fn memory(&self) -> MutexGuard<'_, Memory> {
        lock(&self.memory)
    }

    /// Returns what is known of the session, if it was told.
    pub fn mirror(&self) -> Option<Arc<Mirror>> {
        self.memory().mirror.clone()
    }

    /// Returns where paths begin: in the folder of the session, which changes with it.
    pub fn place(&self) -> Place {
        let directory = match &self.memory().mirror {
            Some(mirror) => mirror.directory.clone(),
            None => self.about.directory.clone(),
        };
        Place { directory, home: self.home.clone() }
    }

    /// Reads the hooks of the folder that the session is in, unless they were read.
    pub async fn load(&self) {
        let directory = self.place().directory;
        let Some(loader) = self.loader.clone() else { return };
        if lock(&self.loaded_for).replace(directory.clone()).as_ref() == Some(&directory) {
            return;
        }
        if let Ok(config) = tokio::task::spawn_blocking(move || loader.load(&directory)).await {
            let config = Arc::new(config);
            *lock(&self.config) = Arc::clone(&config);
            self.report(&config.warnings).await;
        }
    }

    /// Reports mistakes in the settings.
    async fn report(&self, warnings: &[ConfigWarning]) {
        for ConfigWarning { event, text } in warnings {
            let extension = if event.is_empty() { "hook".to_owned() } else { format!("hook:{event}") };
            self.fail(extension, "load", text.clone()).await;
        }
    }

    /// Runs the commands of an event and returns what they come to. What they have to say and what went wrong is sent
    /// first.
    pub async fn ask(
        self: &Arc<Self>,
        asked: Asked<'_>,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Verdict {
        let Asked { event, hook, names, fields, call } = asked;
        let place = self.place();
        let commands = self.config().commands(event, names, |command| {
            let Some((condition, call)) = command.condition.as_ref().zip(call) else { return true };
            condition.applies(names, call, &place)
        });
        if commands.is_empty() {
            return Verdict::default();
        }
        let input = self.input(event, &place, fields);
        let occasion = Occasion { directory: place.directory, input, limit };
        let (background, waited): (Vec<_>, Vec<_>) =
            commands.into_iter().partition(|command| command.is_background);
        if !background.is_empty() {
            let (shared, occasion) = (Arc::clone(self), Occasion { limit: NO_LIMIT, ..occasion.clone() });
            let started = self.runner.start(async move {
                let never = CancellationToken::new();
                for answered in shared.runner.run(event, background, &occasion, &never).await {
                    shared.warn(event, hook, &answered).await;
                }
            });
            if !started {
                self.report_flood(event, hook);
            }
        }
        let answers = self.runner.run(event, waited, &occasion, cancel).await;
        if cancel.is_cancelled() {
            return Verdict::default();
        }
        for answered in &answers {
            self.warn(event, hook, answered).await;
            // A notification about a notification would have no end.
            if event != HookEventName::Notification {
                self.show(&answered.answer).await;
            }
        }
        Verdict::new(answers.into_iter().map(|answered| answered.answer).collect())
    }

    /// Shows the user what a command has to say.
    async fn show(&self, answer: &Answer) {
        if let Some(message) = &answer.message {
            self.notify(message.clone(), NotifyLevel::Info).await;
        }
        if let Some(Some(reason)) = &answer.stop {
            self.notify(reason.clone(), NotifyLevel::Warning).await;
        }
    }

    /// Tells whether the session has messages already.
    pub async fn has_messages(&self) -> bool {
        let (reply, context) = oneshot::channel();
        self.recipient.send(ExtensionInput::GetContext { reply }).await;
        context.await.is_ok_and(|context| !context.messages.is_empty())
    }

    fn input(&self, event: HookEventName, place: &Place, fields: Value) -> Map<String, Value> {
        let mirror = self.mirror();
        let transcript = match &mirror {
            Some(mirror) => mirror.session_file.as_deref(),
            None => self.about.session_file.as_deref(),
        };
        let session_id = mirror.as_ref().map_or(&self.about.session_id, |mirror| &mirror.session_id);
        Common { session_id, transcript, directory: &place.directory }.with(event, fields)
    }

    async fn warn(&self, event: HookEventName, hook: HookKind, answered: &Answered) {
        let command = &answered.command.command;
        let end = command.char_indices().nth(LONGEST_COMMAND).map(|(end, _)| end);
        let shown = end.map_or(command.clone(), |end| format!("{}…", &command[..end]));
        for warning in &answered.answer.warnings {
            let error = format!("the command `{shown}` {warning}");
            self.fail(format!("hook:{}", event.as_str()), hook.as_str(), error).await;
        }
    }

    async fn fail(&self, extension: String, event: &str, error: String) {
        let error = ExtensionError { extension, event: event.to_owned(), error };
        self.recipient.send(ExtensionInput::Failed(error)).await;
    }

    /// Reports once that commands are left out.
    fn report_flood(self: &Arc<Self>, event: HookEventName, hook: HookKind) {
        if self.told_of_flood.swap(true, Ordering::Relaxed) {
            return;
        }
        let shared = Arc::clone(self);
        tokio::spawn(async move {
            let error = "too many commands run in the background; some were not started".to_owned();
            shared.fail(format!("hook:{}", event.as_str()), hook.as_str(), error).await;
        });
    }

    /// Shows the user a text.
    pub async fn notify(&self, message: String, level: NotifyLevel) {
        let display = Display::Notify { message, level: Some(level) };
        self.recipient.send(ExtensionInput::Display(display)).await;
    }

    /// Sends a text to the model.
    pub async fn send_context(&self, event: HookEventName, text: String, delivery: Delivery) {
        let message = message(event, text, false);
        self.recipient.send(ExtensionInput::SendMessage { message, delivery, triggers_turn: None }).await;
    }

    /// Reports a failure that no command is to blame for.
    pub async fn complain(&self, event: HookEventName, hook: HookKind, error: &str) {
        self.fail(format!("hook:{}", event.as_str()), hook.as_str(), error.to_owned()).await;
    }
}

/// Returns a message of a hook. What is not displayed is for the model only.
pub(super) fn message(event: HookEventName, text: String, display: bool) -> CustomMessageDraft {
    CustomMessageDraft {
        custom_type: MESSAGE_TYPE.to_owned(),
        content: vec![Content::text(text)].into(),
        display,
        details: Some(json!({"event": event.as_str()})),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
