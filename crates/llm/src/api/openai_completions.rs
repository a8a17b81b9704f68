//! OpenAI's Chat Completions API, the lingua franca of model servers.

mod decoder;
mod messages;
mod prose;
mod request;
mod thinking;

use super::{Api, Decoder, no_budget};
use crate::conversation::IdRule;

pub(super) use request::build_for;

pub(super) const API: Api =
    Api { name: "openai-completions", request: request::build, budget: no_budget, decoder };

/// Returns a decoder of the API's answers.
pub(super) fn decoder() -> Box<dyn Decoder> {
    Box::new(decoder::Completions::default())
}

/// The kinds of server with this API, beyond what the flags of a model express.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Server {
    OpenAi,
    Mistral,
}

impl Server {
    /// Returns the form of call ids. OpenAI accepts 40 characters; Mistral exactly nine letters and digits.
    fn ids(self) -> IdRule {
        match self {
            Self::OpenAi => IdRule { keeps_own: true, ..IdRule::words(40) },
            Self::Mistral => IdRule { longest: 9, shortest: 9, joiners: false, keeps_own: false },
        }
    }

    /// Returns the path under the base URL. Mistral's URL is often given without the version.
    fn path(self, base_url: &str) -> &'static str {
        match self {
            Self::Mistral if !base_url.trim_end_matches('/').ends_with("/v1") => "/v1/chat/completions",
            _ => "/chat/completions",
        }
    }
}
