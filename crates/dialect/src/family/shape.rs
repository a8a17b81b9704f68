//! The form of a model response that is being streamed, in the family's dialects.

use bowline_core::message::{AssistantContent, AssistantMessage, StopReason, ToolCall};
use bowline_core::usage::Usage;
use serde::Serialize;

use crate::json;
use crate::snapshot::{Block, Deltas, Shape};

/// The canonical form of messages. The arguments of a tool call are an object, so they are `{}` until the call is complete.
#[derive(Debug)]
pub(super) struct FamilyShape;

/// A message without its role and its blocks.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Members<'message> {
    api: &'message str,
    provider: &'message str,
    model: &'message str,
    usage: &'message Usage,
    stop_reason: StopReason,
    timestamp: u64,
}

impl Shape for FamilyShape {
    fn members(&self, message: &AssistantMessage, out: &mut Vec<u8>) {
        let object = json::to_line(&Members {
            api: &message.api,
            provider: &message.provider,
            model: &message.model,
            usage: &message.usage,
            // Clients have no stop reason for an incomplete message.
            stop_reason: StopReason::Stop,
            timestamp: message.timestamp,
        });
        out.extend_from_slice(&object[1..object.len() - 1]);
    }

    fn open(&self, block: &Block<'_>, out: &mut Vec<u8>) {
        match block {
            Block::Text => out.extend_from_slice(br#"{"type":"text","text":""#),
            Block::Thinking => out.extend_from_slice(br#"{"type":"thinking","thinking":""#),
            Block::ToolCall { id, name } => {
                out.extend_from_slice(br#"{"type":"toolCall","id":"#);
                json::write(out, id);
                out.extend_from_slice(br#","name":"#);
                json::write(out, name);
                out.extend_from_slice(br#","arguments":{"#);
            }
        }
    }

    fn close(&self, block: &Block<'_>, out: &mut Vec<u8>) {
        match block {
            Block::Text | Block::Thinking => out.extend_from_slice(br#""}"#),
            Block::ToolCall { .. } => out.extend_from_slice(b"}}"),
        }
    }

    fn argument_deltas(&self) -> Deltas {
        Deltas::Ignored
    }

    fn call(&self, call: &ToolCall, out: &mut Vec<u8>) {
        json::write(out, &AssistantContent::ToolCall(call.clone()));
    }
}
