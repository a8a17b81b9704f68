//! Completions of the arguments of an extension's commands.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::completion::Completion;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::process::connection::CallEnd;
use crate::process::extension::ProcessExtension;
use crate::protocol::{CompletionResult, ToExtension};

/// How long an extension may take: the user is typing.
const LIMIT: Duration = Duration::from_secs(1);

/// The most completions, and the longest text of one in bytes. Others are left out.
const MOST: usize = 200;
const LONGEST: usize = 4096;

/// Asks an extension for completions. One that fails or takes too long has none, and that is reported.
pub(crate) async fn complete(
    extension: Arc<ProcessExtension>,
    command: String,
    prefix: String,
    cancel: CancellationToken,
) -> Vec<Completion> {
    match ask(&extension, &command, &prefix, cancel).await.and_then(read) {
        Ok(completions) => completions,
        Err(problem) => {
            extension.fail("complete", problem).await;
            Vec::new()
        }
    }
}

async fn ask(
    extension: &ProcessExtension,
    command: &str,
    prefix: &str,
    cancel: CancellationToken,
) -> CallEnd {
    let (guard, end) = extension.start_call(|line, id| {
        bowline_dialect::write_json(line, &ToExtension::Complete { id, command, prefix });
    })?;
    guard.answer(end, Some(LIMIT), cancel).await
}

fn read(value: Value) -> Result<Vec<Completion>, String> {
    let results: Option<Vec<CompletionResult>> =
        serde_json::from_value(value).map_err(|problem| format!("invalid completions: {problem}"))?;
    let completions = results.into_iter().flatten().map(Completion::from);
    let fits = |completion: &Completion| {
        let others = [&completion.label, &completion.description].into_iter().flatten();
        completion.value.len() + others.map(String::len).sum::<usize>() <= LONGEST
    };
    Ok(completions.filter(fits).take(MOST).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn completions_are_texts_or_objects_within_bounds() {
        let values = |value: Value| -> Vec<String> {
            read(value).unwrap().into_iter().map(|completion| completion.value).collect()
        };
        assert_eq!(values(Value::Null), [""; 0]);
        assert_eq!(values(json!(["a", { "value": "b", "label": "B" }])), ["a", "b"]);
        assert_eq!(values(json!(["x".repeat(LONGEST + 1), "b"])), ["b"]);
        assert_eq!(values(json!(vec!["a"; MOST + 1])).len(), MOST);
        for wrong in [json!("a"), json!([7]), json!([{ "label": "a" }])] {
            assert!(read(wrong.clone()).unwrap_err().starts_with("invalid completions"), "{wrong}");
        }
    }
}
