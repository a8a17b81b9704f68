//! How the tests of this crate call a tool: as the engine does, in a temporary directory.

use std::path::Path;
use std::sync::{Arc, Mutex};

use bowline_core::message::{Arguments, Content, join_text};
use bowline_core::sandbox::Grants;
use bowline_core::tool::ToolDefinition;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::builtin::Call;
use crate::{BoxFuture, CallContext, Editor, Options, Outcome, Progress, TodoList, Tool, Toolbox};

/// A temporary directory, and what it takes to call tools in it.
pub(crate) struct Workshop {
    directory: TempDir,
    /// Holds the logs of truncated output.
    _temporary: TempDir,
    pub cancel: CancellationToken,
    pub reports: Arc<Mutex<Vec<Progress>>>,
    pub options: Options,
    pub takes_images: bool,
    pub editor: Option<Arc<dyn Editor>>,
    todos: TodoList,
}

impl Workshop {
    pub(crate) fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let temporary_directory = Some(temporary.path().to_owned());
        Self {
            directory: tempfile::tempdir().unwrap(),
            _temporary: temporary,
            cancel: CancellationToken::new(),
            reports: Arc::default(),
            options: Options { temporary_directory, ..Options::default() },
            takes_images: true,
            editor: None,
            todos: TodoList::default(),
        }
    }

    /// Returns a workshop with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let workshop = Self::new();
        for (name, content) in files {
            let path = workshop.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        workshop
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub(crate) fn context(&self) -> CallContext {
        let reports = Arc::clone(&self.reports);
        CallContext {
            working_directory: self.path().to_owned(),
            cancel: self.cancel.clone(),
            progress: Arc::new(move |report| reports.lock().unwrap().push(report)),
            environment: vec![("WORKSHOP".to_owned(), "open".to_owned())],
            takes_images: self.takes_images,
            session_id: None,
            call_id: None,
            todos: self.todos.clone(),
            grants: Grants::default(),
            editor: self.editor.clone(),
        }
    }

    /// Calls a built-in tool.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> impl Future<Output = Outcome> + Send + use<> {
        self.call_in(&Toolbox::builtin(&self.options), tool, arguments)
    }

    /// Calls a tool of `toolbox`.
    pub(crate) fn call_in(
        &self,
        toolbox: &Toolbox,
        tool: &str,
        arguments: Value,
    ) -> impl Future<Output = Outcome> + Send + use<> {
        toolbox.get(tool).unwrap().call(self.context(), object(arguments))
    }

    /// Returns what a built-in tool is given for a call.
    pub(crate) fn built_in_call(&self, arguments: Value) -> Call {
        Call::new(Arc::new(self.options.clone()), self.context(), object(arguments))
    }

    /// Calls a tool that must succeed, and returns its text.
    pub(crate) async fn succeed(&self, tool: &str, arguments: Value) -> String {
        let outcome = self.call(tool, arguments).await;
        assert!(!outcome.is_error, "{}", text(&outcome));
        text(&outcome)
    }

    /// Calls a tool that must fail, and returns its text.
    pub(crate) async fn fail(&self, tool: &str, arguments: Value) -> String {
        let outcome = self.call(tool, arguments).await;
        assert!(outcome.is_error, "{}", text(&outcome));
        assert_eq!(outcome.details, Some(json!({})));
        text(&outcome)
    }
}

/// A tool from outside this crate that behaves as a test wants.
pub(crate) struct StubTool {
    definition: ToolDefinition,
    behaviour: fn(CallContext) -> BoxFuture<'static, Outcome>,
}

impl StubTool {
    pub(crate) fn new(name: &str, behaviour: fn(CallContext) -> BoxFuture<'static, Outcome>) -> Self {
        let (name, description) = (name.to_owned(), "stub".to_owned());
        Self {
            definition: ToolDefinition { name, description, parameters: json!({}), strict: None },
            behaviour,
        }
    }
}

impl Tool for StubTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call(&self, context: CallContext, _arguments: Arguments) -> BoxFuture<'static, Outcome> {
        (self.behaviour)(context)
    }
}

fn object(json: Value) -> Arguments {
    match json {
        Value::Object(object) => object,
        other => panic!("{other} is not an object"),
    }
}

pub(crate) fn text(outcome: &Outcome) -> String {
    join_text(&outcome.content)
}

pub(crate) fn report_text(report: &Progress) -> String {
    assert!(report.content.iter().all(|block| matches!(block, Content::Text { .. })));
    join_text(&report.content)
}
