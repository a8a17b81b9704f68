//! The tool `read`: a text from a line on, as much of it as fits, or an image. Only what is shown is held in memory,
//! however large the file; the rest is read past to count its lines.

use std::fs::{self, File, Metadata};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use base64::Engine;
use bowline_core::message::{Arguments, Content};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::builtin::{Builtin, interruptible, unprepared};
use crate::error::Error;
use crate::image;
use crate::parameters::{Kind, Parameter, integer, text};
use crate::paths;
use crate::tool::{CallContext, Outcome};
use crate::truncate::{self, Limit, MAX_BYTES, Totals, Truncation, format_size};

/// A file with a zero byte in its beginning is no text.
const BINARY_CHECK: usize = 8 * 1024;

const BUFFER: usize = 64 * 1024;

pub(crate) static TOOL: Builtin = Builtin {
    name: "read",
    description: "Read a text file or an image (png, jpeg, gif, webp). Shows up to 2000 lines or 50KB; go on with offset.",
    parameters: &[
        Parameter::required("path", Kind::Text, "File, relative or absolute"),
        Parameter::optional("offset", Kind::Integer, "First line, from 1"),
        Parameter::optional("limit", Kind::Integer, "Number of lines"),
    ],
    by_default: true,
    prepare: unprepared,
    run: |_, context, arguments| {
        let cancel = context.cancel.clone();
        Box::pin(interruptible(cancel, move |cancel| read(&context, &arguments, cancel)))
    },
};

/// The part of a file that is asked for.
#[derive(Debug, Clone, Copy)]
struct Span {
    /// From 1.
    first: usize,
    limit: Option<usize>,
}

impl Span {
    fn holds(self, line: usize) -> bool {
        line >= self.first && self.limit.is_none_or(|limit| line - self.first < limit)
    }
}

fn read(context: &CallContext, arguments: &Arguments, cancel: &CancellationToken) -> Result<Outcome, Error> {
    let given = text(arguments, "path").unwrap_or_default();
    let path = paths::resolve(&context.working_directory, given);
    let metadata = fs::metadata(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => paths::not_found(&path),
        _ => Error::file("read", given)(error),
    })?;
    refuse_unreadable(given, &metadata)?;
    let file = File::open(&path).map_err(Error::file("read", given))?;
    let mut reader = BufReader::with_capacity(BUFFER, file);
    let head = reader.fill_buf().map_err(Error::file("read", given))?;
    if let Some(mime_type) = image::mime_type(&head[..head.len().min(image::HEAD)]) {
        return read_image(given, &path, mime_type, &metadata, context.takes_images);
    }
    if head[..head.len().min(BINARY_CHECK)].contains(&0) {
        let size = format_size(usize::try_from(metadata.len()).unwrap_or(usize::MAX));
        return Err(Error::Binary { path: given.to_owned(), size });
    }
    let span = Span {
        first: integer(arguments, "offset").unwrap_or(1).max(1),
        limit: integer(arguments, "limit").map(|limit| limit.max(1)),
    };
    let passage = Passage::read(reader, span, given, cancel)?;
    passage.outcome(span, given)
}

fn refuse_unreadable(given: &str, metadata: &Metadata) -> Result<(), Error> {
    if metadata.is_dir() {
        return Err(Error::IsDirectory { path: given.to_owned() });
    }
    // Opening a pipe would wait for its writer, reading a device may never end.
    if !metadata.is_file() {
        return Err(Error::NotRegular { path: given.to_owned() });
    }
    Ok(())
}

fn read_image(
    given: &str,
    path: &Path,
    mime_type: &str,
    metadata: &Metadata,
    takes_images: bool,
) -> Result<Outcome, Error> {
    let size = format_size(usize::try_from(metadata.len()).unwrap_or(usize::MAX));
    if !takes_images {
        let note = format!("{given} is an image ({mime_type}, {size}), but this model takes no images, so it is not shown.");
        return Ok(Outcome::text(note));
    }
    if metadata.len() > image::MAX_BYTES {
        return Err(Error::ImageTooLarge { path: given.to_owned(), size });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(Error::file("read", given))?;
    file.take(image::MAX_BYTES).read_to_end(&mut bytes).map_err(Error::file("read", given))?;
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    let mut outcome = Outcome::text(format!("The image {given} ({mime_type}, {size}):"));
    outcome.content.push(Content::Image { data, mime_type: mime_type.to_owned() });
    Ok(outcome)
}

/// What was found of a span of a file.
struct Passage {
    /// The beginning of the span, a little more than a result shows.
    kept: Vec<u8>,
    /// The size of the whole span.
    span: Totals,
    /// The length of its first line, without the line break.
    first_line: usize,
    file_lines: usize,
}

impl Passage {
    fn read(mut reader: impl BufRead, span: Span, given: &str, cancel: &CancellationToken) -> Result<Self, Error> {
        let mut passage =
            Self { kept: Vec::new(), span: Totals { lines: 0, bytes: 0 }, first_line: 0, file_lines: 0 };
        let mut line_begun = false;
        loop {
            if cancel.is_cancelled() {
                return Err(Error::Aborted);
            }
            let buffer = reader.fill_buf().map_err(Error::file("read", given))?;
            if buffer.is_empty() {
                return Ok(passage);
            }
            let mut rest = buffer;
            while !rest.is_empty() {
                let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |position| position + 1);
                let (piece, after) = rest.split_at(end);
                passage.add(piece, !line_begun, span);
                line_begun = !piece.ends_with(b"\n");
                rest = after;
            }
            let length = buffer.len();
            reader.consume(length);
        }
    }

    /// Adds a line, or a piece of one.
    fn add(&mut self, piece: &[u8], begins_line: bool, span: Span) {
        self.file_lines += usize::from(begins_line);
        if !span.holds(self.file_lines) {
            return;
        }
        self.span.lines += usize::from(begins_line);
        self.span.bytes += piece.len();
        if self.span.lines == 1 {
            self.first_line += piece.len() - usize::from(piece.ends_with(b"\n"));
        }
        // One byte more than is shown tells that there is more; the others keep the last character whole.
        let room = (MAX_BYTES + 4).saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn outcome(self, span: Span, given: &str) -> Result<Outcome, Error> {
        if self.file_lines == 0 && span.first == 1 {
            return Ok(Outcome::text("(the file is empty)"));
        }
        if self.span.lines == 0 {
            return Err(Error::OffsetPastEnd {
                path: given.to_owned(),
                offset: span.first,
                lines: self.file_lines,
            });
        }
        let decoded = String::from_utf8_lossy(&self.kept);
        let shown = truncate::head(&decoded, self.span);
        let mut text = shown.content.clone();
        let mut notes = Vec::new();
        notes.extend(self.continuation(span, given, &shown));
        // The cut may have gone through a character at the very end of what is kept, beyond what is shown.
        if shown.content.contains(char::REPLACEMENT_CHARACTER) && std::str::from_utf8(&self.kept).is_err() {
            notes.push("Bytes that are not UTF-8 are shown as \u{fffd}.".to_owned());
        }
        if !notes.is_empty() {
            text.truncate(text.trim_end_matches('\n').len());
            let separator = if text.is_empty() { "" } else { "\n\n" };
            text += &format!("{separator}[{}]", notes.join(" "));
        }
        let outcome = Outcome::text(text);
        Ok(match shown.limit {
            Some(_) => outcome.with_details(json!({"truncation": shown.details()})),
            None => outcome,
        })
    }

    /// Returns where the file goes on, if it does.
    fn continuation(&self, span: Span, given: &str, shown: &Truncation) -> Option<String> {
        let (first, next, lines) = (span.first, span.first + shown.output_lines, self.file_lines);
        if shown.first_line_exceeds_limit {
            return Some(format!(
                "Line {first} has {}, more than the {} that fit. See a part of it with bash: sed -n '{first}p' {} | cut -c 1-2000. Other lines: offset={}.",
                format_size(self.first_line),
                format_size(MAX_BYTES),
                quote(given),
                first + 1,
            ));
        }
        let why = if shown.limit == Some(Limit::Bytes) { ", cut at 50.0KB" } else { "" };
        (next <= lines).then(|| format!("Lines {first}-{} of {lines}{why}. Go on with offset={next}.", next - 1))
    }
}

/// Returns a word for a shell.
fn quote(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-+~".contains(character);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
