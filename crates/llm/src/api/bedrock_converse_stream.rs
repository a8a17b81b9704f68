//! Amazon Bedrock's ConverseStream API: signed requests, answers in Amazon's binary framing.

mod decoder;
mod event_stream;
mod request;
mod signature;

#[cfg(test)]
pub(super) use decoder::fixture;

use super::Api;

pub(super) const API: Api = Api {
    name: "bedrock-converse-stream",
    request: request::build,
    budget: request::budget,
    decoder: || Box::new(decoder::Converse::default()),
};
