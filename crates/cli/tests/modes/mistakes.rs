//! Command lines that cannot be run: one sentence on stderr, nothing on stdout, no request.

use bowline_testkit::{Launch, Workspace};

use crate::once;

#[track_caller]
fn refused(workspace: &Workspace, arguments: &[&str], code: i32, expected: &str) {
    let finished = once(workspace, arguments);
    assert_eq!((finished.code, finished.stdout.as_str()), (code, ""), "{arguments:?}: {}", finished.stderr);
    assert!(finished.stderr.contains(expected), "{arguments:?}: {}", finished.stderr);
}

#[test]
fn mistakes_are_sentences_on_stderr() {
    let (server, workspace) = Workspace::with_server();
    refused(&workspace, &["-p"], 1, "there is no message");
    refused(&workspace, &["-p", "hi", "--planet"], 1, "Unknown option: --planet");
    refused(&workspace, &["-p", "hi", "--plan"], 1, "--plan cannot be served: bowline has no plan mode");
    refused(&workspace, &["-p", "hi", "-z"], 2, "Unknown option: -z");
    refused(&workspace, &["-p", "hi", "--output", "xml"], 2, "there are text, json, stream-json");
    refused(&workspace, &["-p", "@missing"], 1, "File not found: ");
    refused(&workspace, &["-p", "hi", "--model", "no/such"], 1, "not found");
    refused(&workspace, &["fix the tests"], 2, "add -p");
    refused(&workspace, &["@a.md"], 2, "add -p");
    refused(&workspace, &["--session", "a", "--continue", "-p", "hi"], 2, "cannot be used together");
    assert_eq!(server.requests().len(), 0);
    assert_eq!(workspace.session_files().len(), 0);
}

#[test]
fn missing_model_is_said() {
    let finished = Launch::bowline(&Workspace::empty()).arguments(&["-p", "hi"]).run();
    assert_eq!((finished.code, finished.stdout.as_str()), (1, ""));
    assert!(finished.stderr.starts_with("bowline: No model"), "{}", finished.stderr);
}
