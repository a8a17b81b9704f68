//! The part of a session that a model sees, as messages of users, models and tools: for whoever answers in place of an API.

use std::sync::Arc;

use bowline_core::Message;
use bowline_core::message::{AssistantContent, AssistantMessage, Content, ToolResultMessage, UserMessage};

use super::{
    Images, NO_RESULT, Part, Results, images_for, is_omitted, parts, results_of, take_result, user_parts,
};
use crate::request::ModelRequest;

impl ModelRequest {
    /// Returns the conversation as the model sees it. Failed answers are omitted, every call has exactly one result right
    /// after its answer, and session notes are messages of the user.
    pub fn whole_messages(&self) -> Vec<Arc<Message>> {
        let images = images_for(self);
        let mut results = results_of(&self.messages);
        let mut whole = Vec::with_capacity(self.messages.len());
        for (index, message) in self.messages.iter().enumerate() {
            match &**message {
                Message::Assistant(answer) if is_omitted(answer) => {}
                Message::Assistant(answer) => {
                    whole.push(Arc::clone(message));
                    let outcomes = outcomes(answer, index, images, &mut results);
                    whole.extend(outcomes.map(|result| Arc::new(Message::ToolResult(result))));
                }
                Message::ToolResult(_) => {}
                other => whole.extend(user_message(other, images).map(Arc::new)),
            }
        }
        whole
    }
}

/// Returns the results of the calls of an answer, in the order of the calls.
fn outcomes<'a>(
    answer: &'a AssistantMessage,
    index: usize,
    images: Images,
    results: &'a mut Results<'_>,
) -> impl Iterator<Item = ToolResultMessage> + 'a {
    let calls = answer.content.iter().filter_map(|block| match block {
        AssistantContent::ToolCall(call) => Some(call),
        _ => None,
    });
    calls.map(move |call| match take_result(&call.id, index, results) {
        Some(result) => {
            ToolResultMessage { content: content(&parts(&result.content, images)), ..result.clone() }
        }
        None => ToolResultMessage {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: vec![Content::Text { text: NO_RESULT.to_owned() }],
            details: None,
            is_error: true,
            timestamp: answer.timestamp,
        },
    })
}

fn user_message(message: &Message, images: Images) -> Option<Message> {
    let content = content(&user_parts(message, images));
    if content.is_empty() {
        return None;
    }
    let (attachments, source) = (Vec::new(), None);
    Some(Message::User(UserMessage { content, timestamp: message.timestamp(), attachments, source }))
}

fn content(parts: &[Part<'_>]) -> Vec<Content> {
    let block = |part: &Part<'_>| match *part {
        Part::Text(ref text) => Content::Text { text: text.to_string() },
        Part::Image { data, mime_type } => {
            Content::Image { data: data.to_owned(), mime_type: mime_type.to_owned() }
        }
    };
    parts.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::conversation::tests::{messages, model, request};

    #[test]
    fn whoever_answers_sees_users_models_and_tools_only() {
        let messages = messages(json!([
            {"role": "user", "content": "go"},
            {"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0, "cancelled": false, "truncated": false},
            {"role": "assistant", "content": [{"type": "text", "text": "half"}], "stopReason": "error"},
            {"role": "assistant", "content": [
                {"type": "toolCall", "id": "1", "name": "ls", "arguments": {}},
                {"type": "toolCall", "id": "2", "name": "ls", "arguments": {}},
            ], "stopReason": "toolUse"},
            {"role": "toolResult", "toolCallId": "2", "toolName": "ls", "isError": false,
             "content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}]},
        ]));
        let whole = request(messages, model(json!({"input": ["text"]}))).whole_messages();
        let seen = serde_json::to_value(&whole).unwrap();
        let roles: Vec<_> = seen.as_array().unwrap().iter().map(|message| message["role"].clone()).collect();
        assert_eq!(roles, ["user", "user", "assistant", "toolResult", "toolResult"]);
        assert_eq!(seen[3]["toolCallId"], "1");
        assert_eq!((&seen[3]["isError"], &seen[4]["isError"]), (&json!(true), &json!(false)));
        assert!(seen[4]["content"][0]["text"].as_str().unwrap().contains("An image was omitted"));
    }
}
