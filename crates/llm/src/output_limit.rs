//! The output token limit of a request.

use bowline_core::json_length::length_of_json;

use crate::conversation::{AnswerPart, Part, Turn};
use crate::request::ModelRequest;

/// The part of the window that is kept free, because the input size is only an estimate.
const MARGIN: u64 = 4096;

/// The smallest limit, however full the window looks. A smaller one would only interrupt the answer after a few words;
/// if the window really is full, the provider reports it, and the conversation is compacted.
const LEAST: u64 = 1024;

/// The approximate cost of an image.
const IMAGE: u64 = 1200;

/// Returns the limit to send: the requested one, within the model's limit and the rest of its window.
pub(crate) fn output_limit(request: &ModelRequest, turns: &[Turn<'_>]) -> u64 {
    let model = &request.model;
    let most = request.max_tokens.map_or(model.max_tokens, |wanted| wanted.min(model.max_tokens));
    let left = model.context_window.saturating_sub(estimate(request, turns)).saturating_sub(MARGIN);
    most.min(left.max(LEAST)).max(1)
}

/// Estimates the tokens of a request: a quarter of its bytes.
pub(crate) fn estimate(request: &ModelRequest, turns: &[Turn<'_>]) -> u64 {
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + length_of_json(&tool.parameters))
        .sum();
    let fixed = (request.system.len() + tools) as u64 / 4;
    fixed + turns.iter().map(estimate_turn).sum::<u64>()
}

fn estimate_turn(turn: &Turn<'_>) -> u64 {
    match turn {
        Turn::User(parts) => estimate_parts(parts),
        Turn::Results(outcomes) => outcomes.iter().map(|outcome| estimate_parts(&outcome.parts)).sum(),
        Turn::Assistant(pieces) => pieces.iter().map(|piece| length_of(piece) as u64 / 4).sum(),
    }
}

fn estimate_parts(parts: &[Part<'_>]) -> u64 {
    let tokens = parts.iter().map(|part| match part {
        Part::Text(text) => text.len() as u64 / 4,
        Part::Image { .. } => IMAGE,
    });
    tokens.sum()
}

fn length_of(piece: &AnswerPart<'_>) -> usize {
    match piece {
        AnswerPart::Text { text, .. } => text.len(),
        AnswerPart::Thinking(block) => block.thinking.len(),
        AnswerPart::Call(call) => call.name.len() + length_of_json(call.arguments),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::conversation::tests::model;
    use serde_json::{Value, json};
    use std::sync::Arc;

    /// Returns a request with some fields of its model overridden.
    pub(crate) fn request(changes: Value) -> ModelRequest {
        ModelRequest {
            model: Arc::new(model(changes)),
            system: "".into(),
            messages: Vec::new(),
            tools: Vec::new().into(),
            thinking: bowline_core::ThinkingLevel::Off,
            max_tokens: None,
            session_id: "s".into(),
            cache: false,
            options: crate::RequestOptions::default(),
            output_schema: None,
        }
    }

    #[track_caller]
    fn check(window: u64, most: u64, wanted: Option<u64>, bytes: usize, expected: u64) {
        let request = ModelRequest {
            max_tokens: wanted,
            ..request(json!({"contextWindow": window, "maxTokens": most}))
        };
        let turns = [Turn::User(vec![Part::Text("x".repeat(bytes).into())])];
        assert_eq!(output_limit(&request, &turns), expected);
    }

    #[test]
    fn answer_fits_the_model_and_the_window() {
        check(200_000, 32_000, None, 400, 32_000);
        check(200_000, 32_000, Some(500), 400, 500);
        check(20_000, 32_000, None, 4_000, 20_000 - 1_000 - 4_096);
        check(20_000, 32_000, None, 400_000, 1_024);
        check(20_000, 300, None, 400_000, 300);
    }
}
