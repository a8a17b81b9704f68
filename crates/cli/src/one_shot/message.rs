//! The messages of a one-shot run, from stdin, files and the command line.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use bowline_tools::image_type;
use serde::Serialize;
use serde_json::Value;

use super::output_schema::OutputSchema;
use crate::environment::Environment;
use crate::failure::Failure;

/// The largest file that is attached.
const LARGEST_FILE: u64 = 64 * 1024 * 1024;

/// The files that the command line names as `@path`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Attachments {
    text: String,
    images: Vec<Image>,
}

/// An image as a part of a message.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "image", rename_all = "camelCase")]
struct Image {
    data: String,
    mime_type: &'static str,
}

/// A command to run a message.
#[derive(Serialize)]
#[serde(tag = "type", rename = "prompt")]
struct Prompt {
    id: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<Image>,
    #[serde(flatten)]
    output: Option<Output>,
}

/// What a message asks for.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Output {
    output_schema: Value,
    output_retries: u32,
}

impl Attachments {
    /// Reads the files. Text is quoted with its path, as pi does, and images are attached.
    pub fn read(paths: &[String], environment: &Environment) -> Result<Self, Failure> {
        let mut attachments = Self::default();
        for path in paths {
            let path = plain_path(&environment.expand(path));
            let bytes = bowline_files::read(&path, LARGEST_FILE).map_err(|error| {
                if error.is_not_found() {
                    Failure::Usage(format!("File not found: {}", path.display()))
                } else {
                    error.into()
                }
            })?;
            attachments.add(&path, &bytes);
        }
        Ok(attachments)
    }

    fn add(&mut self, path: &Path, bytes: &[u8]) {
        let name = path.display();
        if let Some(mime_type) = image_type(bytes) {
            self.images.push(Image { data: BASE64.encode(bytes), mime_type });
            self.text += &format!("<file name=\"{name}\"></file>\n");
        } else if !bytes.is_empty() {
            let text = String::from_utf8_lossy(bytes);
            let text = text.trim_start_matches('\u{feff}');
            self.text += &format!("<file name=\"{name}\">\n{text}\n</file>\n");
        }
    }

    /// Returns a message that begins with the texts, and the images as base64 with their types.
    pub fn before(self, message: &str) -> (String, Vec<(String, &'static str)>) {
        let images = self.images.into_iter().map(|image| (image.data, image.mime_type)).collect();
        (self.text + message, images)
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// Returns the commands for the messages. The first message begins with what was piped to stdin and the files, and the last
/// one asks for the output.
pub(super) fn prompts(
    piped: Option<String>,
    attachments: Attachments,
    words: Vec<String>,
    output: Option<OutputSchema>,
) -> Vec<String> {
    let mut words = words.into_iter();
    let first = piped.unwrap_or_default() + &attachments.text + &words.next().unwrap_or_default();
    let first = (!first.is_empty()).then_some((first, attachments.images));
    let others = words.map(|message| (message, Vec::new()));
    let prompt =
        |(message, images)| Prompt { id: super::conversation::PROMPT, message, images, output: None };
    let mut prompts: Vec<_> = first.into_iter().chain(others).map(prompt).collect();
    if let (Some(last), Some(OutputSchema { schema, retries })) = (prompts.last_mut(), output) {
        last.output = Some(Output { output_schema: schema, output_retries: retries });
    }
    prompts.iter().map(|prompt| serde_json::to_string(prompt).unwrap_or_default()).collect()
}

/// Returns a path without `.` and `..`, by its text alone.
fn plain_path(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn attached(files: &[(&str, &[u8])]) -> Attachments {
        let mut attachments = Attachments::default();
        for (path, bytes) in files {
            attachments.add(Path::new(path), bytes);
        }
        attachments
    }

    fn decoded(piped: Option<&str>, attachments: Attachments, words: &[&str]) -> Vec<Value> {
        decoded_with(piped, attachments, words, None)
    }

    fn decoded_with(
        piped: Option<&str>,
        attachments: Attachments,
        words: &[&str],
        output: Option<OutputSchema>,
    ) -> Vec<Value> {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let prompts = prompts(piped.map(ToOwned::to_owned), attachments, words, output);
        prompts.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn first_message_joins_stdin_files_and_the_first_word() {
        let attachments =
            attached(&[("/a.md", b"\xef\xbb\xbfone"), ("/empty", b""), ("/b.png", b"\x89PNG\r\n\x1a\n")]);
        let messages = decoded(Some("piped"), attachments, &["first", "second"]);
        assert_eq!(
            messages,
            [
                json!({
                    "type": "prompt",
                    "id": "prompt",
                    "message": "piped<file name=\"/a.md\">\none\n</file>\n<file name=\"/b.png\"></file>\nfirst",
                    "images": [{ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" }],
                }),
                json!({ "type": "prompt", "id": "prompt", "message": "second" }),
            ]
        );
    }

    #[test]
    fn output_is_asked_of_the_last_message() {
        let output = OutputSchema { schema: json!({"type": "object"}), retries: 1 };
        let messages = decoded_with(None, Attachments::default(), &["a", "b"], Some(output));
        assert_eq!(
            (&messages[0]["outputSchema"], &messages[0]["outputRetries"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(
            (&messages[1]["outputSchema"], &messages[1]["outputRetries"]),
            (&json!({"type": "object"}), &json!(1))
        );
    }

    #[test]
    fn nothing_is_no_message() {
        assert_eq!(decoded(None, Attachments::default(), &[]), [Value::Null; 0]);
        assert_eq!(decoded(None, Attachments::default(), &[""]), [Value::Null; 0]);
        assert_eq!(decoded(None, Attachments::default(), &["", "x"]).len(), 1);
    }

    #[test]
    fn paths_are_shown_without_detours() {
        assert_eq!(plain_path(Path::new("/a/./b/../c")), Path::new("/a/c"));
    }
}
