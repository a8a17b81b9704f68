//! OpenAI's Responses API. Answers are lists of items; with `store: false` the provider keeps none of them, so
//! encrypted reasoning is sent back to it.

mod decoder;
mod item;
mod request;

use super::{Api, Decoder, no_budget};

pub(super) use request::body;

pub(super) const API: Api =
    Api { name: "openai-responses", request: request::build, budget: no_budget, decoder };

/// Returns a decoder of the API's answers.
pub(super) fn decoder() -> Box<dyn Decoder> {
    Box::new(decoder::Responses::default())
}
