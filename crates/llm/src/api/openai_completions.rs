//! OpenAI's Chat Completions API, the common language of model servers.

mod decoder;
mod request;

use super::Api;

pub(super) const API: Api = Api {
    name: "openai-completions",
    request: request::build,
    decoder: || Box::new(decoder::Completions::default()),
};
