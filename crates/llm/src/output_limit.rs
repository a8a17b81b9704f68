//! How many tokens an answer may have.

use crate::conversation::{Part, Said, Turn};
use crate::request::ModelRequest;

/// What is kept free of the window, because the estimate of the input is only one.
const MARGIN: u64 = 4096;

/// The least that is asked for, however full the window looks. A smaller limit would only cut the answer off after a
/// few words, which helps nobody; if the window really is full, the provider says so, and the conversation is
/// compacted.
const LEAST: u64 = 1024;

/// What an image costs, roughly.
const IMAGE: u64 = 1200;

/// Returns the limit to send: what was asked for, within what the model can write and what its window has left.
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
        Turn::Assistant(said) => said.iter().map(|piece| length_of(piece) as u64 / 4).sum(),
    }
}

fn estimate_parts(parts: &[Part<'_>]) -> u64 {
    let tokens = parts.iter().map(|part| match part {
        Part::Text(text) => text.len() as u64 / 4,
        Part::Image { .. } => IMAGE,
    });
    tokens.sum()
}

fn length_of(piece: &Said<'_>) -> usize {
    match piece {
        Said::Text { text, .. } => text.len(),
        Said::Thinking(block) => block.thinking.len(),
        Said::Call(call) => call.name.len() + length_of_json(call.arguments),
    }
}

/// Returns how many bytes a value has as JSON.
fn length_of_json(value: &impl serde::Serialize) -> usize {
    struct Counter(usize);

    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let mut counter = Counter(0);
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::conversation::tests::model;
    use serde_json::{Value, json};
    use std::sync::Arc;

    /// Returns a request to a model with some fields changed.
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
    fn the_answer_fits_the_model_and_the_window() {
        check(200_000, 32_000, None, 400, 32_000);
        check(200_000, 32_000, Some(500), 400, 500);
        check(20_000, 32_000, None, 4_000, 20_000 - 1_000 - 4_096);
        check(20_000, 32_000, None, 400_000, 1_024);
        check(20_000, 300, None, 400_000, 300);
    }
}
