//! Google's Gemini API.

mod decoder;
mod request;
mod thinking;

use super::Api;

pub(super) const API: Api = Api {
    name: "google-generative-ai",
    request: request::build,
    budget: thinking::budget,
    decoder: || Box::new(decoder::Contents::default()),
};
