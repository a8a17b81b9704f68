//! An extension whose behaviour a test decides.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bowline_core::hook::{HookEvent, HookKind, HookResult, Subscription};
use bowline_core::slash_command::SlashCommand;
use bowline_engine::{About, Attached, CommandResult, Extension, ExtensionInput, Host, Mirror, SessionLink};
use bowline_tools::BoxFuture;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

type Answer = Result<HookResult, String>;
type Work = dyn Fn(HookEvent, SessionLink) -> BoxFuture<'static, Answer> + Send + Sync;

/// A host with one extension that takes part in some hooks and does what a closure says.
#[derive(Clone)]
pub struct TestExtension {
    name: Arc<str>,
    hooks: Vec<(HookKind, Subscription)>,
    work: Arc<Work>,
    link: Arc<Mutex<Option<SessionLink>>>,
    /// The commands that it offers as soon as it is attached.
    commands: Vec<SlashCommand>,
    /// The sessions that it was attached to, in order.
    attached: Arc<Mutex<Vec<About>>>,
    /// Cancelled when the host is stopped.
    stopped: CancellationToken,
    /// The names of the hooks it was called at or told of, in order.
    pub seen: Arc<Mutex<Vec<String>>>,
    pub mirrored: Arc<Mutex<Option<Arc<Mirror>>>>,
}

impl TestExtension {
    /// Returns an extension that is called at `hooks`.
    pub fn new<F>(
        name: &str,
        hooks: &[HookKind],
        work: impl Fn(HookEvent, SessionLink) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        Self {
            name: name.into(),
            hooks: hooks.iter().map(|hook| (*hook, Subscription::Awaited)).collect(),
            work: Arc::new(move |event, link| Box::pin(work(event, link))),
            link: Arc::default(),
            commands: Vec::new(),
            attached: Arc::default(),
            stopped: CancellationToken::new(),
            seen: Arc::default(),
            mirrored: Arc::default(),
        }
    }

    /// Returns an extension that always returns the same.
    pub fn returning(name: &str, hook: HookKind, answer: Answer) -> Self {
        Self::new(name, &[hook], move |_, _| std::future::ready(answer.clone()))
    }

    /// Has it told of these hooks too, without being waited for.
    pub fn told(mut self, hooks: &[HookKind]) -> Self {
        self.hooks.extend(hooks.iter().map(|hook| (*hook, Subscription::Told)));
        self
    }

    /// Has it offer slash commands.
    pub fn offering(mut self, commands: Vec<SlashCommand>) -> Self {
        self.commands = commands;
        self
    }

    /// Returns why and in which folder it was attached, in order.
    pub fn attachments(&self) -> Vec<(&'static str, PathBuf)> {
        let attached = self.attached.lock().unwrap();
        attached.iter().map(|about| (about.reason.as_str(), about.directory.clone())).collect()
    }

    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// Returns the way to its session.
    pub fn link(&self) -> SessionLink {
        self.link.lock().unwrap().clone().unwrap()
    }
}

impl fmt::Debug for TestExtension {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("TestExtension").field(&self.name).finish()
    }
}

impl Host for TestExtension {
    fn attach(&self, link: SessionLink, about: About) -> Option<Box<dyn Attached>> {
        *self.link.lock().unwrap() = Some(link.clone());
        self.attached.lock().unwrap().push(about);
        let (extension, commands) = (Arc::clone(&self.name), self.commands.clone());
        tokio::spawn(async move {
            if !commands.is_empty() {
                link.send(ExtensionInput::Commands { extension, commands }).await;
            }
            link.send(ExtensionInput::Ready).await
        });
        Some(Box::new(Self { stopped: CancellationToken::new(), ..self.clone() }))
    }
}

impl Attached for TestExtension {
    fn extensions(&self) -> Vec<Arc<dyn Extension>> {
        vec![Arc::new(self.clone())]
    }

    fn stop(&self) -> BoxFuture<'static, ()> {
        self.seen.lock().unwrap().push("stop".to_owned());
        self.stopped.cancel();
        Box::pin(std::future::ready(()))
    }
}

impl Extension for TestExtension {
    fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    fn subscription(&self, hook: HookKind, _tool: Option<&str>) -> Subscription {
        self.hooks.iter().find(|(known, _)| *known == hook).map(|(_, how)| *how).unwrap_or_default()
    }

    fn tell(&self, event: &HookEvent) {
        self.seen.lock().unwrap().push(event.kind().as_str().to_owned());
    }

    fn call(&self, event: Arc<HookEvent>, _cancel: CancellationToken) -> BoxFuture<'static, Answer> {
        self.seen.lock().unwrap().push(event.kind().as_str().to_owned());
        (self.work)(Arc::unwrap_or_clone(event), self.link())
    }

    fn run_command(
        &self,
        name: &str,
        arguments: &str,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<CommandResult, String>> {
        self.seen.lock().unwrap().push(format!("/{name} {arguments}"));
        let name = name.to_owned();
        let (extension, link, stopped) = (Arc::clone(&self.name), self.link(), self.stopped.clone());
        Box::pin(async move {
            match &*name {
                "reload" => {
                    let (reply, _) = oneshot::channel();
                    link.send(ExtensionInput::Reload { extension, reply }).await;
                    stopped.cancelled().await;
                    Err("the extension has ended".to_owned())
                }
                "fail" => Err("it failed".to_owned()),
                "wait" => {
                    cancel.cancelled().await;
                    Ok(CommandResult::Done)
                }
                _ => Ok(CommandResult::Done),
            }
        })
    }

    fn mirror(&self, session: &Arc<Mirror>, _entries: &[Arc<str>]) {
        *self.mirrored.lock().unwrap() = Some(Arc::clone(session));
    }
}
