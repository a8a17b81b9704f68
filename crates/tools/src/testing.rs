//! How the tests of this crate call a tool: as the engine does, in a directory of their own.

use std::path::Path;
use std::sync::{Arc, Mutex};

use bowline_core::message::{Content, join_text};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::{CallContext, Options, Outcome, Progress, Toolbox};

/// A directory, and what it takes to call tools in it.
pub(crate) struct Workshop {
    directory: TempDir,
    pub cancel: CancellationToken,
    pub reports: Arc<Mutex<Vec<Progress>>>,
    pub options: Options,
    pub takes_images: bool,
}

impl Workshop {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            cancel: CancellationToken::new(),
            reports: Arc::default(),
            options: Options::default(),
            takes_images: true,
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

    pub(crate) fn call(
        &self,
        tool: &str,
        arguments: Value,
    ) -> impl Future<Output = Outcome> + Send + 'static {
        let reports = Arc::clone(&self.reports);
        let context = CallContext {
            working_directory: self.path().to_owned(),
            cancel: self.cancel.clone(),
            progress: Arc::new(move |report| reports.lock().unwrap().push(report)),
            environment: vec![("WORKSHOP".to_owned(), "open".to_owned())],
            takes_images: self.takes_images,
        };
        let tool = Toolbox::builtin(&self.options).get(tool).unwrap();
        let Value::Object(arguments) = arguments else { panic!("{arguments} is no object") };
        tool.call(context, arguments)
    }

    /// Calls a tool, and returns its text when it succeeds.
    pub(crate) async fn succeed(&self, tool: &str, arguments: Value) -> String {
        let outcome = self.call(tool, arguments).await;
        assert!(!outcome.is_error, "{}", text(&outcome));
        text(&outcome)
    }

    /// Calls a tool, and returns its text when it fails as errors should.
    pub(crate) async fn fail(&self, tool: &str, arguments: Value) -> String {
        let outcome = self.call(tool, arguments).await;
        assert!(outcome.is_error, "{}", text(&outcome));
        assert_eq!(outcome.details, Some(serde_json::json!({})));
        text(&outcome)
    }
}

pub(crate) fn text(outcome: &Outcome) -> String {
    join_text(&outcome.content)
}

pub(crate) fn report_text(report: &Progress) -> String {
    assert!(report.content.iter().all(|block| matches!(block, Content::Text { .. })));
    join_text(&report.content)
}
