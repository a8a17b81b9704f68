//! The tools and addresses of a client, as tools that a model calls: what they do is asked of the client through the
//! session, and waited for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bowline_core::event::ToolReport;
use bowline_core::host::{HostTool, HostWork, UriResult, UriScheme};
use bowline_core::message::{Arguments, Content};
use bowline_core::tool::{ToolDefinition, ToolDisplay, ToolTraits};
use bowline_tools::{BoxFuture, CallContext, Outcome, Progress, Tool, show_text};
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use crate::input::{Inputs, Report};

/// How much text the output of a client's tool has for the model; the rest is left out.
const LONGEST_TEXT: usize = 1024 * 1024;

/// How much a client can remark on an address.
const LONGEST_NOTES: usize = 10 * 1024;

/// What a tool wants the client to do, on its way to the session.
pub struct HostRequest {
    pub(crate) work: HostWork,
    /// Cancelled when nobody waits for the outcome any longer.
    pub(crate) cancel: CancellationToken,
    pub(crate) progress: Arc<dyn Fn(Progress) + Send + Sync>,
    /// How long the client may say nothing, if that is not as usual.
    pub(crate) limit: Option<Duration>,
    pub(crate) reply: oneshot::Sender<HostCallEnd>,
}

impl fmt::Debug for HostRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HostRequest").field("work", &self.work).finish_non_exhaustive()
    }
}

/// A call that the client has not ended.
pub(crate) struct OpenHostCall {
    pub progress: Arc<dyn Fn(Progress) + Send + Sync>,
    pub reply: oneshot::Sender<HostCallEnd>,
    /// Told of every update, so that the time limit starts again.
    pub heard: Arc<Notify>,
}

impl fmt::Debug for OpenHostCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OpenHostCall").finish_non_exhaustive()
    }
}

/// How a call of the client ended.
#[derive(Debug)]
pub(crate) enum HostCallEnd {
    Done {
        result: ToolReport,
        is_error: bool,
    },
    Resolved(UriResult),
    /// The client's answer cannot be used, and why.
    Invalid(String),
    /// The client said nothing for this long.
    TimedOut(Duration),
    Aborted,
}

/// Returns why a call is given up, once it is: it is not wanted any more, or nothing was heard of it for too long.
pub(crate) async fn given_up(
    limit: Option<Duration>,
    heard: &Notify,
    cancel: &CancellationToken,
) -> HostCallEnd {
    loop {
        let silence = async {
            match limit {
                Some(limit) => {
                    tokio::time::sleep(limit).await;
                    limit
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = cancel.cancelled() => return HostCallEnd::Aborted,
            () = heard.notified() => {}
            limit = silence => return HostCallEnd::TimedOut(limit),
        }
    }
}

/// The way from a tool to the client, through the session.
#[derive(Debug, Clone)]
pub(crate) struct HostLink {
    inputs: Inputs,
    session: Weak<()>,
}

impl HostLink {
    pub fn new(inputs: Inputs, session: Weak<()>) -> Self {
        Self { inputs, session }
    }

    /// Has the client do something and waits for the end. Dropping the future withdraws it.
    async fn call(self, work: HostWork, context: CallContext) -> HostCallEnd {
        self.send(work, context.cancel.child_token(), context.progress, None).await
    }

    /// Asks the client for something that should not take long. Dropping the future withdraws it.
    pub async fn ask(self, work: HostWork, limit: Duration) -> HostCallEnd {
        self.send(work, CancellationToken::new(), Arc::new(|_| ()), Some(limit)).await
    }

    async fn send(
        self,
        work: HostWork,
        cancel: CancellationToken,
        progress: Arc<dyn Fn(Progress) + Send + Sync>,
        limit: Option<Duration>,
    ) -> HostCallEnd {
        let _withdrawn = cancel.clone().drop_guard();
        let (reply, end) = oneshot::channel();
        let request = HostRequest { work, cancel, progress, limit, reply };
        let is_open = self.session.strong_count() > 0;
        if !is_open || !self.inputs.send(Report::HostCall(Box::new(request))).await {
            return HostCallEnd::Aborted;
        }
        end.await.unwrap_or(HostCallEnd::Aborted)
    }
}

/// A tool that the client runs.
pub(crate) struct ClientTool {
    definition: ToolDefinition,
    link: HostLink,
}

impl ClientTool {
    pub fn new(tool: HostTool, link: HostLink) -> Self {
        let HostTool { name, description, parameters, .. } = tool;
        Self { definition: ToolDefinition { name, description, parameters, strict: None }, link }
    }
}

impl Tool for ClientTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call(&self, context: CallContext, arguments: Arguments) -> BoxFuture<'static, Outcome> {
        let (link, tool) = (self.link.clone(), self.definition.name.clone());
        Box::pin(async move {
            let call_id = context.call_id.clone().unwrap_or_default();
            let takes_images = context.takes_images;
            let work = HostWork::Tool { call_id, tool: tool.clone(), arguments: Arc::new(arguments) };
            match link.call(work, context).await {
                HostCallEnd::Done { result, is_error } => outcome(result, is_error, takes_images),
                HostCallEnd::Aborted => Outcome::error(format!("Host tool \"{tool}\" was aborted")),
                HostCallEnd::TimedOut(limit) => Outcome::error(format!(
                    "Host tool \"{tool}\" timed out: the client sent neither a result nor an update for {} s",
                    limit.as_secs_f64()
                )),
                HostCallEnd::Invalid(problem) => {
                    Outcome::error(format!("Host tool \"{tool}\" returned an invalid result: {problem}"))
                }
                HostCallEnd::Resolved(_) => Outcome::error(FAILED),
            }
        })
    }
}

/// What the model reads of a call that failed without a text.
const FAILED: &str = "Host tool execution failed";

/// Returns the outcome of a call that the client ended.
fn outcome(result: ToolReport, is_error: bool, takes_images: bool) -> Outcome {
    let ToolReport { content, details, usage, .. } = result;
    let mut content = limited(content, takes_images);
    let is_silent = |block: &Content| matches!(block, Content::Text { text } if text.trim().is_empty());
    if is_error && content.iter().all(is_silent) {
        content = vec![Content::text(FAILED)];
    }
    let details = if is_error { Some(details.unwrap_or_else(|| json!({}))) } else { details };
    Outcome { content, details, usage, is_error, ..Outcome::text("") }
}

/// Returns as much of a tool's output as a model takes.
fn limited(content: Vec<Content>, takes_images: bool) -> Vec<Content> {
    let mut room = LONGEST_TEXT;
    let mut is_cut = false;
    let mut kept: Vec<Content> = Vec::new();
    for block in content {
        match block {
            Content::Image { mime_type, .. } if !takes_images => kept.push(Content::text(format!(
                "An image ({mime_type}) was returned, but this model does not accept images, so it is not shown."
            ))),
            Content::Image { .. } => kept.push(block),
            Content::Text { mut text } => {
                if text.len() > room {
                    is_cut = true;
                    text.truncate(text.floor_char_boundary(room));
                }
                room -= text.len();
                if !is_cut || !text.is_empty() {
                    kept.push(Content::Text { text });
                }
            }
        }
    }
    if is_cut {
        kept.push(Content::text(format!("[Truncated to {} KB of text.]", LONGEST_TEXT / 1024)));
    }
    kept
}

/// The schemes of the addresses that the client serves.
#[derive(Debug, Default)]
pub(crate) struct Addresses(BTreeMap<String, UriScheme>);

impl Addresses {
    /// Returns these schemes, which were checked.
    pub fn new(schemes: Vec<UriScheme>) -> Self {
        Self(schemes.into_iter().map(|scheme| (scheme.name.clone(), scheme)).collect())
    }

    /// Returns what the model is told of them, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let note = |scheme: &UriScheme| {
            let verbs = if scheme.is_writable { "read and write also take" } else { "read also takes" };
            let about = scheme.description.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
            format!("{verbs} paths that begin with {}://{about}", scheme.name)
        };
        self.0.values().map(note).collect()
    }

    /// Returns how a call is carried out that names one of these addresses.
    pub fn access(&self, traits: &ToolTraits, arguments: &Arguments) -> Option<Access> {
        let url = traits.path_in(arguments)?;
        let (name, _) = url.split_once("://")?;
        let scheme = self.0.get(&name.to_ascii_lowercase())?;
        let url = url.to_owned();
        Some(match traits.display {
            ToolDisplay::Read => Access::Read { url },
            ToolDisplay::Write if scheme.is_writable => Access::Write { url },
            _ => Access::Refused { url, tool: traits.name },
        })
    }
}

/// How a call that names an address of the client is carried out.
#[derive(Debug, Clone)]
pub(crate) enum Access {
    Read { url: String },
    Write { url: String },
    Refused { url: String, tool: &'static str },
}

/// A tool whose path is an address of the client.
pub(crate) struct AddressTool {
    pub tool: Arc<dyn Tool>,
    pub access: Access,
    pub link: HostLink,
}

impl Tool for AddressTool {
    fn definition(&self) -> &ToolDefinition {
        self.tool.definition()
    }

    fn traits(&self) -> Option<&'static ToolTraits> {
        self.tool.traits()
    }

    fn call(&self, context: CallContext, arguments: Arguments) -> BoxFuture<'static, Outcome> {
        let (link, access) = (self.link.clone(), self.access.clone());
        Box::pin(async move {
            match access {
                Access::Read { url } => {
                    let end = link.call(HostWork::Read { url: url.clone() }, context).await;
                    resolved(end, "read", &url, |result| shown(&result, &url, &arguments))
                }
                Access::Write { url } => {
                    let content = arguments.get("content").and_then(Value::as_str).unwrap_or_default();
                    let work = HostWork::Write { url: url.clone(), content: content.to_owned() };
                    let end = link.call(work, context).await;
                    resolved(end, "write", &url, |result| match result.content {
                        Some(content) => show_text(&content, &url, &Arguments::new()),
                        None => Outcome::text(format!("Wrote {url}.")),
                    })
                }
                Access::Refused { url, tool: "write" } => {
                    Outcome::error(format!("{url} cannot be written: the client only lets it be read."))
                }
                Access::Refused { url, tool } => Outcome::error(format!(
                    "{tool} does not work on {url}, which the client serves; it can only be read or written as a whole."
                )),
            }
        })
    }
}

/// Returns the outcome of a request for an address.
fn resolved(
    end: HostCallEnd,
    operation: &str,
    url: &str,
    succeed: impl FnOnce(UriResult) -> Outcome,
) -> Outcome {
    match end {
        HostCallEnd::Resolved(UriResult { is_error: true, error, content, .. }) => {
            let text = error.or(content).filter(|text| !text.trim().is_empty());
            let text = text.unwrap_or_else(|| format!("Host URI {operation} failed for {url}"));
            let mut outcome = show_text(&text, url, &Arguments::new());
            (outcome.is_error, outcome.details) = (true, Some(json!({})));
            outcome
        }
        HostCallEnd::Resolved(result) => succeed(result),
        HostCallEnd::Aborted => Outcome::error(format!("Host URI {operation} for {url} was aborted")),
        HostCallEnd::TimedOut(limit) => Outcome::error(format!(
            "Host URI {operation} for {url} timed out: the client sent no result for {} s",
            limit.as_secs_f64()
        )),
        HostCallEnd::Invalid(problem) => {
            Outcome::error(format!("Host URI {operation} for {url} has an invalid result: {problem}"))
        }
        HostCallEnd::Done { .. } => Outcome::error(format!("Host URI {operation} failed for {url}")),
    }
}

/// Returns what the model sees of an address.
fn shown(result: &UriResult, url: &str, arguments: &Arguments) -> Outcome {
    let mut outcome = show_text(result.content.as_deref().unwrap_or_default(), url, arguments);
    let mut notes = result.notes.join("\n");
    if !notes.is_empty() {
        notes.truncate(notes.floor_char_boundary(LONGEST_NOTES));
        outcome.content.push(Content::text(notes));
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(block: &Content) -> &str {
        if let Content::Text { text } = block { text } else { "an image" }
    }

    #[tokio::test(start_paused = true)]
    async fn every_update_starts_the_time_limit_again() {
        let (heard, cancel) = (Notify::new(), CancellationToken::new());
        let started = tokio::time::Instant::now();
        let updates = async {
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_secs(9)).await;
                heard.notify_one();
            }
        };
        let (end, ()) = tokio::join!(given_up(Some(Duration::from_secs(10)), &heard, &cancel), updates);
        assert!(matches!(end, HostCallEnd::TimedOut(_)), "{end:?}");
        assert_eq!(started.elapsed().as_secs(), 3 * 9 + 10);

        let cancelling = async {
            tokio::time::sleep(Duration::from_secs(1_000_000)).await;
            cancel.cancel();
        };
        let (end, ()) = tokio::join!(given_up(None, &heard, &cancel), cancelling);
        assert!(matches!(end, HostCallEnd::Aborted), "{end:?}");
    }

    #[test]
    fn text_for_the_model_is_bounded() {
        let long = Content::text("é".repeat(LONGEST_TEXT));
        let kept = limited(vec![Content::text("a"), long.clone(), long], true);
        assert_eq!(kept.len(), 3);
        let size: usize = kept.iter().map(|block| text(block).len()).sum();
        assert!(size <= LONGEST_TEXT + 100, "{size}");
        assert_eq!(text(&kept[2]), "[Truncated to 1024 KB of text.]");
    }

    #[test]
    fn images_are_named_where_the_model_takes_none() {
        let image = Content::Image { data: "AA==".to_owned(), mime_type: "image/png".to_owned() };
        assert_eq!(limited(vec![image.clone()], true), std::slice::from_ref(&image));
        assert!(text(&limited(vec![image], false)[0]).starts_with("An image (image/png) was returned"));
    }

    #[test]
    fn failure_without_a_text_says_that_it_is_one() {
        let result = |content| ToolReport { content, ..ToolReport::default() };
        for content in [Vec::new(), vec![Content::text(" ")]] {
            let outcome = outcome(result(content), true, true);
            assert_eq!((text(&outcome.content[0]), outcome.is_error), (FAILED, true));
        }
        assert_eq!(outcome(result(Vec::new()), false, true).content, []);
    }

    #[test]
    fn addresses_are_found_by_their_scheme() {
        let scheme =
            |name: &str, is_writable| UriScheme { name: name.to_owned(), is_writable, description: None };
        let addresses = Addresses::new(vec![scheme("db", false), scheme("notes", true)]);
        let access = |tool: &str, path: &str| {
            let arguments = json!({ "path": path }).as_object().cloned().unwrap();
            let traits = bowline_tools::traits_of(tool).unwrap();
            addresses
                .access(traits, &arguments)
                .map(|access| format!("{access:?}").split(' ').next().unwrap().to_owned())
        };
        for (tool, path, expected) in [
            ("read", "db://users/1", Some("Read")),
            ("read", "DB://users/1", Some("Read")),
            ("read", "dbx://users", None),
            ("read", "db:/users", None),
            ("read", "src/main.rs", None),
            ("write", "notes://a", Some("Write")),
            ("write", "db://a", Some("Refused")),
            ("edit", "notes://a", Some("Refused")),
        ] {
            assert_eq!(access(tool, path).as_deref(), expected, "{tool} {path}");
        }
    }
}
