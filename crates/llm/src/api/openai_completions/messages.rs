//! Serialises the messages of a conversation.

use std::borrow::Cow;

use bowline_core::Model;
use bowline_core::message::ThinkingBlock;
use serde::Serialize;

use super::Server;
use crate::api::flag;
use crate::conversation::{AnswerPart, Outcome, Part, Turn};

/// Marks thinking that came as typed chunks of the content. Other marks are field names.
pub(super) const TYPED: &str = "thinking";

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum Entry<'a> {
    System {
        content: Content<'a>,
    },
    Developer {
        content: Content<'a>,
    },
    User {
        content: Content<'a>,
    },
    Assistant(AssistantMessage<'a>),
    Tool {
        tool_call_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
        content: Content<'a>,
    },
}

#[derive(Serialize, Default)]
pub(super) struct AssistantMessage<'a> {
    /// `null` for an answer that consists of calls only.
    content: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_text: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Piece<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Piece<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ImageUrl {
        image_url: ImageUrl,
    },
    Thinking {
        thinking: [Thought<'a>; 1],
    },
}

/// A place up to which OpenRouter lets Anthropic's models cache a prompt.
#[derive(Serialize, Clone, Copy)]
pub(super) struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
pub(super) struct Thought<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
pub(super) struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: String,
}

impl CacheControl {
    pub(super) const EPHEMERAL: Self = Self { kind: "ephemeral" };
}

/// Returns the messages.
pub(super) fn entries<'a>(
    system: &'a str,
    turns: &'a [Turn<'a>],
    model: &Model,
    server: Server,
) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    if !system.trim().is_empty() {
        // Every server accepts `system`; OpenAI treats it as `developer` where that matters.
        let developer = model.reasoning && flag(model, "supportsDeveloperRole") == Some(true);
        let content = Content::Text(Cow::Borrowed(system));
        entries.push(if developer { Entry::Developer { content } } else { Entry::System { content } });
    }
    for turn in turns {
        match turn {
            Turn::User(parts) => add_user(content(parts), model, &mut entries),
            Turn::Assistant(pieces) => {
                entries.push(Entry::Assistant(assistant_message(pieces, model, server)));
            }
            Turn::Results(outcomes) => add_results(outcomes, model, server, &mut entries),
        }
    }
    entries
}

/// Sets the cache marks: after the system prompt and after the last message.
pub(super) fn mark_for_caching(entries: &mut [Entry<'_>]) {
    if let Some(Entry::System { content } | Entry::Developer { content }) = entries.first_mut() {
        content.mark();
    }
    let last = entries.iter_mut().rev().find_map(|entry| match entry {
        Entry::User { content } => Some(content),
        Entry::Assistant(AssistantMessage { content, .. }) => content.as_mut(),
        _ => None,
    });
    if let Some(content) = last {
        content.mark();
    }
}

impl Content<'_> {
    /// Marks the last text.
    fn mark(&mut self) {
        if let Self::Text(text) = self {
            *self = Self::Parts(vec![plain(std::mem::take(text))]);
        }
        let Self::Parts(pieces) = self else { return };
        let last = pieces.iter_mut().rev().find_map(|piece| match piece {
            Piece::Text { text, cache_control } if !text.is_empty() => Some(cache_control),
            _ => None,
        });
        if let Some(cache_control) = last {
            *cache_control = Some(CacheControl::EPHEMERAL);
        }
    }
}

fn add_user<'a>(content: Content<'a>, model: &Model, entries: &mut Vec<Entry<'a>>) {
    let after_results = matches!(entries.last(), Some(Entry::Tool { .. }));
    if after_results && flag(model, "requiresAssistantAfterToolResult") == Some(true) {
        let text = Content::Text(Cow::Borrowed("I have the results of the tools."));
        entries
            .push(Entry::Assistant(AssistantMessage { content: Some(text), ..AssistantMessage::default() }));
    }
    entries.push(Entry::User { content });
}

fn content<'a>(parts: &'a [Part<'a>]) -> Content<'a> {
    if let [Part::Text(text)] = parts {
        return Content::Text(Cow::Borrowed(text));
    }
    Content::Parts(parts.iter().map(piece).collect())
}

fn plain(text: Cow<'_, str>) -> Piece<'_> {
    Piece::Text { text, cache_control: None }
}

fn piece<'a>(part: &'a Part<'a>) -> Piece<'a> {
    match part {
        Part::Text(text) => plain(Cow::Borrowed(text)),
        Part::Image { data, mime_type } => {
            Piece::ImageUrl { image_url: ImageUrl { url: format!("data:{mime_type};base64,{data}") } }
        }
    }
}

/// Adds the results of calls. Most servers accept only text in a result, so images follow in a user message.
fn add_results<'a>(outcomes: &'a [Outcome<'a>], model: &Model, server: Server, entries: &mut Vec<Entry<'a>>) {
    let named = server == Server::Mistral || flag(model, "requiresToolResultName") == Some(true);
    let mut images = Vec::new();
    for outcome in outcomes {
        let has_image = outcome.parts.iter().any(|part| matches!(part, Part::Image { .. }));
        let content = if has_image && server == Server::Mistral {
            Content::Parts(outcome.parts.iter().map(piece).collect())
        } else {
            images.extend(outcome.parts.iter().filter(|part| matches!(part, Part::Image { .. })).map(piece));
            Content::Text(text_of(outcome, has_image))
        };
        let name = named.then_some(outcome.name);
        entries.push(Entry::Tool { tool_call_id: &outcome.call_id, name, content });
    }
    if !images.is_empty() {
        images.insert(0, plain(Cow::Borrowed("The images of the tool results:")));
        add_user(Content::Parts(images), model, entries);
    }
}

fn text_of<'a>(outcome: &'a Outcome<'a>, has_image: bool) -> Cow<'a, str> {
    let texts: Vec<&str> = outcome
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(&**text),
            Part::Image { .. } => None,
        })
        .collect();
    match &texts[..] {
        [] if has_image => Cow::Borrowed("(see the attached image)"),
        [] => Cow::Borrowed("(no output)"),
        [text] => Cow::Borrowed(*text),
        texts => Cow::Owned(texts.join("\n")),
    }
}

fn assistant_message<'a>(
    pieces: &'a [AnswerPart<'a>],
    model: &Model,
    server: Server,
) -> AssistantMessage<'a> {
    let mut message = AssistantMessage::default();
    let as_text = flag(model, "requiresThinkingAsText") == Some(true);
    for piece in pieces {
        match piece {
            AnswerPart::Text { text, .. } => message.push_text(text),
            AnswerPart::Thinking(block) if as_text => message.push_text(&block.thinking),
            AnswerPart::Thinking(block) => message.push_thinking(block, server),
            AnswerPart::Call(call) => message.tool_calls.push(Call {
                id: &call.id,
                kind: "function",
                function: CalledFunction {
                    name: call.name,
                    arguments: serde_json::to_string(call.arguments).unwrap_or_default(),
                },
            }),
        }
    }
    if message.content.is_none() && message.tool_calls.is_empty() {
        message.content = Some(Content::Text(Cow::Borrowed("")));
    }
    if flag(model, "requiresReasoningContentOnAssistantMessages") == Some(true) {
        message.reasoning_content.get_or_insert_default();
    }
    message
}

impl<'a> AssistantMessage<'a> {
    fn push_text(&mut self, text: &'a str) {
        match &mut self.content {
            Some(Content::Text(content)) => content.to_mut().push_str(text),
            Some(Content::Parts(pieces)) => pieces.push(plain(Cow::Borrowed(text))),
            None => self.content = Some(Content::Text(Cow::Borrowed(text))),
        }
    }

    /// Sends thinking back in the form it came in.
    fn push_thinking(&mut self, block: &'a ThinkingBlock, server: Server) {
        let field = match block.thinking_signature.as_deref() {
            _ if server == Server::Mistral => return self.push_typed_thinking(&block.thinking),
            Some(TYPED) => return self.push_typed_thinking(&block.thinking),
            Some("reasoning") => &mut self.reasoning,
            Some("reasoning_text") => &mut self.reasoning_text,
            _ => &mut self.reasoning_content,
        };
        field.get_or_insert_default().push_str(&block.thinking);
    }

    fn push_typed_thinking(&mut self, text: &'a str) {
        let chunk = Piece::Thinking { thinking: [Thought { kind: "text", text }] };
        match &mut self.content {
            Some(Content::Parts(pieces)) => pieces.push(chunk),
            other => {
                let before = match other.take() {
                    Some(Content::Text(text)) => vec![plain(text), chunk],
                    _ => vec![chunk],
                };
                *other = Some(Content::Parts(before));
            }
        }
    }
}
