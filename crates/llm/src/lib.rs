//! Model providers: the known models, their credentials, and the streamed answers.
//!
//! [`Providers`] is the entry point. It knows the built-in catalog, the user's `models.json` and the credentials, and
//! turns a [`ModelRequest`] into a stream of events that are the same for every provider. [`Assembly`] assembles such
//! events into a message.
//!
//! Everything that knows a provider is free of I/O: an API (see `api`) is a function from a request to the bytes of an
//! HTTP request, and a decoder from bytes to events. The transport moves the bytes. The crate reads neither the
//! process's environment nor the home directory: [`Sources`] passes in what it may know.

mod added;
mod address;
mod api;
mod arguments;
mod assembly;
mod auth_file;
mod blocks;
mod catalog;
mod choose;
mod conversation;
mod credentials;
mod error;
mod failure;
mod foreign_answer;
mod json_comments;
mod json_shape;
mod key_login;
mod key_status;
mod key_variables;
mod limits;
mod local_servers;
mod login;
mod lone_surrogates;
mod models_file;
mod near;
mod output_limit;
mod provider_access;
mod provider_login;
mod providers;
mod proxy;
mod recording;
mod redaction;
mod registry;
mod replay;
mod request;
mod request_hooks;
mod scripted;
mod secret;
mod setting_value;
mod sharing;
mod sse;
mod transport;
mod virtual_models;

pub use added::{AddedBy, Additions, AnswerSource, NewProvider};
pub use address::shown as shown_address;
#[doc(hidden)]
pub use api::probe;
pub use assembly::Assembly;
pub use choose::Resolved;
pub use error::Error;
pub use failure::failure_kind_of;
pub use key_login::KeyLogin;
pub use key_status::{KeyState, KeyStatus};
pub use local_servers::{LocalModels, LocalScope};
pub use provider_access::ProviderAccess;
pub use provider_login::{LoginFailure, LoginService, ProviderLogin};
pub use providers::{Providers, Sources};
pub use redaction::Redactor;
pub use request::{AnswerStream, ModelRequest, RequestOptions};
pub use request_hooks::{HookFuture, RequestHooks};
pub use secret::Secret;
pub use setting_value::runs_setting_command;
pub use transport::Timeouts;
pub use virtual_models::{
    Answered, NewVirtualModel, Route, RouteReason, RouteRequest, Routed, Router, VIRTUAL_API, latest_answer,
};
