//! Mistral's models, through its chat completions. They differ from OpenAI's in the form of ids, in the rejected
//! fields, and in thinking, which is sent in both directions as typed chunks of the content.

use bowline_core::stream::StreamError;

use super::openai_completions::{self, Server};
use super::{Api, Endpoint, HttpRequest, no_budget};
use crate::request::ModelRequest;

pub(super) const API: Api = Api {
    name: "mistral-conversations",
    request: build,
    budget: no_budget,
    decoder: openai_completions::decoder,
};

fn build(request: &ModelRequest, endpoint: &Endpoint) -> Result<HttpRequest, StreamError> {
    openai_completions::build_for(Server::Mistral, request, endpoint)
}
