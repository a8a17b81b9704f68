//! Signatures only, until the real modules are in place.
#![allow(missing_docs, unused_variables, clippy::todo, clippy::unimplemented, clippy::panic)]
use crate::*;
use bowline_core::{Model, ThinkingLevel, stream::StreamError};
use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Duration};
#[derive(Debug, Clone)]
pub struct Providers {}
#[derive(Debug, Clone, Default)]
pub struct Sources {
    pub models_file: Option<PathBuf>,
    pub auth_file: Option<PathBuf>,
    pub environment: HashMap<String, String>,
    pub api_key: Option<String>,
    pub api_key_provider: Option<String>,
    pub timeouts: Timeouts,
}
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    pub connect: Duration,
    pub idle: Duration,
}
impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(30), idle: Duration::from_secs(300) }
    }
}
#[derive(Debug, Clone)]
pub struct Resolved {
    pub model: Arc<Model>,
    pub thinking: Option<ThinkingLevel>,
    pub warning: Option<String>,
}
impl Providers {
    pub fn new(sources: Sources) -> Result<Self, Error> { unimplemented!() }
    pub fn stream(&self, request: ModelRequest) -> AnswerStream { unimplemented!() }
    pub fn find(&self, provider: &str, id: &str) -> Option<Arc<Model>> { unimplemented!() }
    pub fn resolve(&self, pattern: &str, provider: Option<&str>) -> Result<Resolved, Error> { unimplemented!() }
    pub fn resolve_scope(&self, patterns: &str) -> Result<Vec<Resolved>, Error> { unimplemented!() }
    pub fn available(&self) -> Vec<Arc<Model>> { unimplemented!() }
    pub fn default_model(&self, preferred: Option<(&str, &str)>) -> Option<Arc<Model>> { unimplemented!() }
    pub fn check_credentials(&self, model: &Model) -> Result<(), StreamError> { unimplemented!() }
}
