//! The interface between a tool and its caller: a definition, and a call that ends in one outcome.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use bowline_core::message::{Arguments, Content};
use bowline_core::sandbox::{Grants, ProtectedChange};
use bowline_core::tool::{ToolDefinition, ToolTraits};
use bowline_core::usage::Usage;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::editor::Editor;
use crate::error::Error;
use crate::todo::TodoList;

/// A future on the heap; the same type as `futures_util::future::BoxFuture`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something that a model can call.
pub trait Tool: Send + Sync {
    /// Returns the definition that a model sees.
    fn definition(&self) -> &ToolDefinition;

    /// Returns the name of the tool, which is also in its definition. Starting needs the names and no definitions.
    fn name(&self) -> &str {
        &self.definition().name
    }

    /// Returns what the tool does to the workspace; `None` if that is unknown, as for a tool of an extension.
    fn traits(&self) -> Option<&'static ToolTraits> {
        None
    }

    /// Tells whether the calls of an answer that calls it run one after the other.
    fn runs_alone(&self) -> bool {
        false
    }

    /// Returns why a call with these arguments would fail before it does anything, if they are invalid. Whoever decides
    /// about calls need not look at such a call.
    fn refuse_arguments(&self, _arguments: &Arguments) -> Option<String> {
        None
    }

    /// Runs the tool; dropping the future kills every process that it started.
    fn call(&self, context: CallContext, arguments: Arguments) -> BoxFuture<'static, Outcome>;
}

/// The context that a call runs in.
#[derive(Clone)]
pub struct CallContext {
    /// Where relative paths start and commands run.
    pub working_directory: PathBuf,
    pub cancel: CancellationToken,
    /// Called for each progress report; cheap, never blocks.
    pub progress: Arc<dyn Fn(Progress) + Send + Sync>,
    /// Variables added to a child's environment.
    pub environment: Vec<(String, String)>,
    /// Whether the model accepts images.
    pub takes_images: bool,
    /// The session that the call belongs to.
    pub session_id: Option<String>,
    /// The id of the call in the model's answer, if a model made it.
    pub call_id: Option<String>,
    /// The list of tasks of that session.
    pub todos: TodoList,
    /// What the call may do beyond the sandbox, because the user or a rule of the user allowed it.
    pub grants: Grants,
    /// What changes of files go through, if the client shows them.
    pub editor: Option<Arc<dyn Editor>>,
}

impl fmt::Debug for CallContext {
    /// Omits the environment, whose values may be secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CallContext")
            .field("working_directory", &self.working_directory)
            .field("takes_images", &self.takes_images)
            .finish_non_exhaustive()
    }
}

/// A report of a running tool: the whole state so far, which replaces the previous report.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub content: Vec<Content>,
    pub details: Option<Value>,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What the model sees.
    pub content: Vec<Content>,
    /// Data for the client that the model does not see; an empty object in every error.
    pub details: Option<Value>,
    /// The result as data, for programs that call the tool; the model does not see it. Rare, so it takes little room.
    pub structured_content: Option<Box<Value>>,
    /// What the call spent on models of its own, which counts in the statistics of the session. Rare, so it takes little
    /// room.
    pub usage: Option<Box<Usage>>,
    pub is_error: bool,
    /// Whether the run ends with this turn, if every other call of the turn says so too.
    pub ends_run: bool,
    /// Protected paths of the workspace that the call changed, and that were restored.
    pub protected: Vec<ProtectedChange>,
}

impl Outcome {
    /// Returns a success with a text and no details.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![Content::text(text)],
            details: None,
            structured_content: None,
            usage: None,
            is_error: false,
            ends_run: false,
            protected: Vec::new(),
        }
    }

    /// Returns a failure with a text.
    pub fn error(text: impl Into<String>) -> Self {
        Self { details: Some(json!({})), is_error: true, ..Self::text(text) }
    }

    /// Adds data for the client; an empty object counts as none.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        let empty = details.as_object().is_some_and(serde_json::Map::is_empty);
        self.details = (!empty).then_some(details);
        self
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        Self::error(error.to_string())
    }
}
