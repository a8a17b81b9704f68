//! The messages of a one-shot run, from stdin, files and the command line.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use bowline_tools::image_type;
use serde::Serialize;

use crate::environment::Environment;
use crate::failure::Failure;

/// The largest file that is attached.
const LARGEST_FILE: u64 = 64 * 1024 * 1024;

/// The files that the command line names as `@path`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Attachments {
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

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// Returns the commands for the messages. The first message begins with what was piped to stdin and the files.
pub(super) fn prompts(piped: Option<String>, attachments: Attachments, words: Vec<String>) -> Vec<String> {
    let mut words = words.into_iter();
    let first = piped.unwrap_or_default() + &attachments.text + &words.next().unwrap_or_default();
    let first = (!first.is_empty()).then_some((first, attachments.images));
    let others = words.map(|message| (message, Vec::new()));
    let encode = |(message, images)| {
        let prompt = Prompt { id: super::conversation::PROMPT, message, images };
        serde_json::to_string(&prompt).unwrap_or_default()
    };
    first.into_iter().chain(others).map(encode).collect()
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
    use serde_json::{Value, json};

    use super::*;

    fn attached(files: &[(&str, &[u8])]) -> Attachments {
        let mut attachments = Attachments::default();
        for (path, bytes) in files {
            attachments.add(Path::new(path), bytes);
        }
        attachments
    }

    fn decoded(piped: Option<&str>, attachments: Attachments, words: &[&str]) -> Vec<Value> {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let prompts = prompts(piped.map(ToOwned::to_owned), attachments, words);
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
