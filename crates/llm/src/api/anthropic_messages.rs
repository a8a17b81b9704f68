//! Anthropic's Messages API, which several other providers also offer.

mod decoder;
mod request;

use super::Api;

pub(super) const API: Api = Api {
    name: "anthropic-messages",
    request: request::build,
    budget: request::budget,
    decoder: || Box::new(decoder::Messages::default()),
};
