//! The tool `read`: a text file from a given line, as much of it as fits, or an image. Only the shown part is held in
//! memory, however large the file; the rest is only scanned to count its lines.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use base64::Engine;
use bowline_core::message::{Arguments, Content};
use bowline_core::tool::{ToolDisplay, ToolTraits};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::builtin::{Builtin, Call, described, interruptible, with_path_alias};
use crate::editor::LONGEST_TEXT;
use crate::error::Error;
use crate::image::{self, Fitted};
use crate::parameters::{Kind, Parameter, integer, text};
use crate::tool::Outcome;
use crate::toolbox::Options;
use crate::truncate::{self, Limit, MAX_BYTES, Totals, Truncation, format_size};

/// A file with a zero byte in its first bytes is not text.
const BINARY_CHECK: usize = 8 * 1024;

const BUFFER: usize = 64 * 1024;

pub(crate) static TOOL: Builtin = Builtin {
    traits: ToolTraits {
        name: "read",
        mutates: false,
        path_argument: Some("path"),
        display: ToolDisplay::Read,
    },
    description: "Read a text file or an image (png, jpeg, gif, webp). Shows up to 2000 lines or 50KB; use offset to continue.",
    parameters: &[
        Parameter::required("path", Kind::Text, "File, relative or absolute"),
        Parameter::optional("offset", Kind::Integer, "First line, from 1"),
        Parameter::optional("limit", Kind::Integer, "Number of lines"),
    ],
    enabled_by_default: true,
    describe: described,
    prepare: with_path_alias,
    run: |call| Box::pin(interruptible(call, read)),
};

/// The requested part of a file.
#[derive(Debug, Clone, Copy)]
struct Span {
    /// From 1.
    first: usize,
    limit: Option<usize>,
}

impl Span {
    /// Returns what the arguments of a call ask for.
    fn of(arguments: &Arguments) -> Self {
        Self {
            first: integer(arguments, "offset").unwrap_or(1).max(1),
            limit: integer(arguments, "limit").map(|limit| limit.max(1)),
        }
    }

    fn holds(self, line: usize) -> bool {
        line >= self.first && self.limit.is_none_or(|limit| line - self.first < limit)
    }
}

fn read(call: &Call, cancel: &CancellationToken) -> Result<Outcome, Error> {
    let arguments = &call.arguments;
    let given = text(arguments, "path").unwrap_or_default();
    let path = call.resolve(given)?;
    let file = call.open(&path, given)?;
    let metadata = file.metadata().map_err(Error::file("read", given))?;
    let mut reader = BufReader::with_capacity(BUFFER, file);
    let head = reader.fill_buf().map_err(Error::file("read", given))?;
    if let Some(mime_type) = image::mime_type(&head[..head.len().min(image::HEAD)]) {
        let size = format_size(usize::try_from(metadata.len()).unwrap_or(usize::MAX));
        if !call.context.takes_images {
            let note = format!(
                "{given} is an image ({mime_type}, {size}), but this model does not accept images, so it is not shown."
            );
            return Ok(Outcome::text(note));
        }
        let shown = read_image(reader, mime_type, &call.options).map_err(Error::file("read", given))?;
        let (image, note) = shown.map_err(|reason| Error::ImageTooLarge {
            path: given.to_owned(),
            size: size.clone(),
            reason,
        })?;
        let note = note.map_or_else(String::new, |note| format!("\n{note}"));
        let mut outcome = Outcome::text(format!("The image {given} ({mime_type}, {size}):{note}"));
        outcome.content.push(image);
        return Ok(outcome);
    }
    if head[..head.len().min(BINARY_CHECK)].contains(&0) {
        let size = format_size(usize::try_from(metadata.len()).unwrap_or(usize::MAX));
        return Err(Error::Binary { path: given.to_owned(), size });
    }
    let span = Span::of(arguments);
    let passage = Passage::read(reader, span, given, cancel)?;
    note_for_editor(call, &path);
    passage.outcome(span, given, Origin::File)
}

/// Notes the text of a file that the client may show, so that it is known later whether the client has noticed a change.
fn note_for_editor(call: &Call, path: &Path) {
    let Some(editor) = &call.context.editor else { return };
    let path = bowline_files::canonical(path);
    if editor.serves(&path)
        && let Ok(text) = bowline_files::read_text(&path, LONGEST_TEXT as u64)
    {
        editor.saw(&path, &text);
    }
}

/// Returns what `read` with these arguments shows of a text that comes from elsewhere, such as an address.
pub fn show_text(text: &str, name: &str, arguments: &Arguments) -> Outcome {
    let span = Span::of(arguments);
    let passage = Passage::read(text.as_bytes(), span, name, &CancellationToken::new());
    passage.and_then(|passage| passage.outcome(span, name, Origin::Elsewhere)).unwrap_or_else(Outcome::from)
}

/// Where a text comes from, which decides what can be done about a line that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    File,
    Elsewhere,
}

/// Reads an image and resizes it to fit. Returns it with a note on the change, or why it cannot be shown.
fn read_image(
    file: impl Read,
    mime_type: &str,
    options: &Options,
) -> io::Result<Result<(Content, Option<String>), &'static str>> {
    let limit = if options.keeps_images { image::MAX_BYTES } else { image::MAX_SOURCE_BYTES };
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        let reason = if options.keeps_images { "images.autoResize is off" } else { "it is larger than 32MB" };
        return Ok(Err(reason));
    }
    let fitted = if options.keeps_images { Ok(Fitted::Unchanged) } else { image::fit(&bytes) };
    Ok(match fitted {
        Ok(Fitted::Unchanged) => {
            let data = base64::engine::general_purpose::STANDARD.encode(bytes);
            Ok((Content::Image { data, mime_type: mime_type.to_owned() }, None))
        }
        Ok(Fitted::Resized(resized)) => {
            let note = resized.note();
            Ok((resized.into_content(), note))
        }
        Err(unfit) => Err(unfit.reason()),
    })
}

/// The contents of a span of a file.
struct Passage {
    /// The head of the span, slightly more than a result shows.
    kept: Vec<u8>,
    /// The size of the whole span.
    span: Totals,
    /// The length of its first line, without the line break.
    first_line: usize,
    file_lines: usize,
}

impl Passage {
    fn read(
        mut reader: impl BufRead,
        span: Span,
        given: &str,
        cancel: &CancellationToken,
    ) -> Result<Self, Error> {
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
            if passage.is_filled(span) {
                passage.add_lines(buffer, line_begun, span);
                line_begun = !buffer.ends_with(b"\n");
                rest = &[];
            }
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

    /// Returns whether the rest is only counted: it is all beyond the span, or all inside it but not shown.
    fn is_filled(&self, span: Span) -> bool {
        let beyond = self.file_lines > span.first && !span.holds(self.file_lines);
        // The first line is read to its end to measure it.
        beyond || span.limit.is_none() && self.span.lines > 1 && self.kept.len() > MAX_BYTES
    }

    /// Counts many lines at once.
    fn add_lines(&mut self, buffer: &[u8], line_begun: bool, span: Span) {
        let breaks = memchr::memchr_iter(b'\n', buffer).count();
        let begun = breaks + usize::from(!line_begun) - usize::from(buffer.ends_with(b"\n"));
        self.file_lines += begun;
        if span.limit.is_none() {
            self.span.lines += begun;
            self.span.bytes += buffer.len();
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
        // One extra byte shows that there is more; the others complete the last character.
        let room = (MAX_BYTES + 4).saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn outcome(self, span: Span, given: &str, origin: Origin) -> Result<Outcome, Error> {
        if self.file_lines == 0 && span.first == 1 {
            let what = if origin == Origin::File { "the file" } else { given };
            return Ok(Outcome::text(format!("({what} is empty)")));
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
        notes.extend(self.continuation(span, given, origin, &shown));
        // The last kept character may be incomplete, but it is beyond what is shown.
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

    /// Returns how to read on, if there is more.
    fn continuation(&self, span: Span, given: &str, origin: Origin, shown: &Truncation) -> Option<String> {
        let (first, next, lines) = (span.first, span.first + shown.output_lines, self.file_lines);
        if shown.first_line_exceeds_limit {
            let way = match origin {
                Origin::File => format!(
                    " See a part of it with bash: sed -n '{first}p' {} | cut -c 1-2000.",
                    quote(given)
                ),
                Origin::Elsewhere => String::new(),
            };
            return Some(format!(
                "Line {first} has {}, more than the {} that fit.{way} Other lines: offset={}.",
                format_size(self.first_line),
                format_size(MAX_BYTES),
                first + 1,
            ));
        }
        let why = if shown.limit == Some(Limit::Bytes) { ", limited to 50.0KB" } else { "" };
        (next <= lines)
            .then(|| format!("Lines {first}-{} of {lines}{why}. Continue with offset={next}.", next - 1))
    }
}

/// Returns a word for a shell.
fn quote(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-+~".contains(character);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use serde_json::Value;

    use super::*;
    use crate::testing::{Workshop, text as text_of};

    fn numbered(lines: usize) -> String {
        (1..=lines).map(|line| format!("line {line}\n")).collect()
    }

    #[tokio::test]
    async fn small_file_is_shown_unchanged() {
        let workshop = Workshop::with(&[("a.txt", "one\ntwo\n"), ("empty", "")]);
        let outcome = workshop.call("read", json!({"path": "@a.txt"})).await;
        assert_eq!(outcome, Outcome::text("one\ntwo\n"));
        assert_eq!(workshop.succeed("read", json!({"path": "empty"})).await, "(the file is empty)");
    }

    #[tokio::test]
    async fn partial_read_states_how_to_continue() {
        let workshop = Workshop::with(&[("a.txt", &numbered(10))]);
        let read = |offset: Value, limit: Value| {
            workshop.succeed("read", json!({"path": "a.txt", "offset": offset, "limit": limit}))
        };
        assert_eq!(
            read(json!(3), json!("2")).await,
            "line 3\nline 4\n\n[Lines 3-4 of 10. Continue with offset=5.]"
        );
        assert_eq!(read(json!(9), json!(2)).await, "line 9\nline 10\n");
        assert_eq!(read(json!(0), json!(1)).await, "line 1\n\n[Lines 1-1 of 10. Continue with offset=2.]");
    }

    #[tokio::test]
    async fn long_file_is_truncated_with_details() {
        let workshop = Workshop::with(&[("a.txt", &numbered(2500))]);
        let outcome = workshop.call("read", json!({"path": "a.txt"})).await;
        assert!(
            text_of(&outcome).ends_with("line 2000\n\n[Lines 1-2000 of 2500. Continue with offset=2001.]")
        );
        let truncation = &outcome.details.unwrap()["truncation"];
        assert_eq!(truncation["totalLines"], 2500);
        assert_eq!((&truncation["truncatedBy"], &truncation["outputLines"]), (&json!("lines"), &json!(2000)));
    }

    #[tokio::test]
    async fn unshown_lines_are_counted_correctly() {
        for ending in ["", "\n"] {
            let text = format!("{}last{ending}", "0123456789\n".repeat(50_000));
            let workshop = Workshop::with(&[("a.txt", &text)]);
            let part = workshop.succeed("read", json!({"path": "a.txt", "offset": 2, "limit": 1})).await;
            assert_eq!(part, "0123456789\n\n[Lines 2-2 of 50001. Continue with offset=3.]");
            let outcome = workshop.call("read", json!({"path": "a.txt"})).await;
            let truncation = &outcome.details.unwrap()["truncation"];
            assert_eq!(
                (&truncation["totalLines"], &truncation["totalBytes"]),
                (&json!(50_001), &json!(text.len()))
            );
            let end = workshop.succeed("read", json!({"path": "a.txt", "offset": 50_001})).await;
            assert_eq!(end, format!("last{ending}"));
        }
    }

    #[tokio::test]
    async fn giant_line_is_explained_instead_of_shown() {
        let workshop = Workshop::with(&[("a b.js", &format!("x\n{}\nz\n", "y".repeat(100_000)))]);
        let outcome = workshop.call("read", json!({"path": "a b.js", "offset": 2})).await;
        let text = text_of(&outcome);
        assert!(text.contains("Line 2 has 97.7KB") && text.contains("sed -n '2p' 'a b.js'"), "{text}");
        assert_eq!(outcome.details.unwrap()["truncation"]["firstLineExceedsLimit"], true);
        let text = workshop.succeed("read", json!({"path": "a b.js"})).await;
        assert_eq!(text, "x\n\n[Lines 1-1 of 3, limited to 50.0KB. Continue with offset=2.]");
    }

    #[tokio::test]
    async fn offset_past_the_end_is_refused_with_the_length() {
        let workshop = Workshop::with(&[("a.txt", "1\n2\n3\n4")]);
        let error = workshop.fail("read", json!({"path": "a.txt", "offset": 99})).await;
        assert_eq!(error, "offset 99 is past the end of a.txt, which has 4 lines.");
    }

    #[tokio::test]
    async fn image_is_shown_only_to_models_that_accept_images() {
        let mut workshop = Workshop::new();
        std::fs::write(workshop.path().join("dot"), b"\x89PNG\r\n\x1a\n\0rest").unwrap();
        let outcome = workshop.call("read", json!({"path": "dot"})).await;
        assert_eq!(
            outcome.content[1],
            Content::Image { data: "iVBORw0KGgoAcmVzdA==".into(), mime_type: "image/png".into() }
        );
        assert_eq!(outcome.details, None);
        workshop.takes_images = false;
        let outcome = workshop.call("read", json!({"path": "dot"})).await;
        assert!(outcome.content.len() == 1 && text_of(&outcome).contains("does not accept images"));
    }

    #[tokio::test]
    async fn oversized_image_is_refused() {
        let workshop = Workshop::new();
        let path = workshop.path().join("big.gif");
        std::fs::write(&path, b"GIF89a").unwrap();
        let grow =
            |size: usize| File::options().write(true).open(&path).unwrap().set_len(size as u64).unwrap();
        for (size, reason) in
            [(image::MAX_BYTES + 1, "only an intact PNG or JPEG"), (image::MAX_SOURCE_BYTES + 1, "32MB")]
        {
            grow(size);
            let error = workshop.fail("read", json!({"path": "big.gif"})).await;
            assert!(error.contains("too large for a model") && error.contains(reason), "{error}");
        }
    }

    #[tokio::test]
    async fn large_image_is_resized_unless_disabled() {
        let mut workshop = Workshop::new();
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 2400, 6);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.write_header().unwrap().write_image_data(&[9; 2400 * 6]).unwrap();
        std::fs::write(workshop.path().join("wide.png"), &file).unwrap();
        let outcome = workshop.call("read", json!({"path": "wide.png"})).await;
        assert!(text_of(&outcome).ends_with(
            "B):\n[Image: original 2400x6, displayed at 2000x5. Multiply coordinates by 1.20 to map to original image.]"
        ));
        let data = |outcome: &Outcome| match &outcome.content[1] {
            Content::Image { data, .. } => base64::engine::general_purpose::STANDARD.decode(data).unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!(data(&outcome)[16..24], [0, 0, 7, 208, 0, 0, 0, 5]);
        workshop.options.keeps_images = true;
        let outcome = workshop.call("read", json!({"path": "wide.png"})).await;
        assert_eq!(data(&outcome), file);
        std::fs::write(workshop.path().join("wide.png"), [file, vec![0; image::MAX_BYTES]].concat()).unwrap();
        let error = workshop.fail("read", json!({"path": "wide.png"})).await;
        assert!(error.contains("images.autoResize is off"), "{error}");
    }

    #[tokio::test]
    async fn non_text_is_refused_with_the_next_step() {
        let workshop = Workshop::with(&[("binary", "a\0b"), ("src/main.rs", "")]);
        let read = |path: &str| workshop.fail("read", json!({"path": path}));
        assert!(read("binary").await.contains("binary file (3B)"));
        assert!(read("src").await.contains("`ls`"));
        assert!(read("src/mein.rs").await.contains("src/main.rs?"));
        assert!(read("src/main.rs/x").await.contains("does not exist"));
        assert!(read("/dev/zero").await.contains("neither a file"));
    }

    #[tokio::test]
    async fn invalid_utf8_is_replaced_and_noted() {
        let workshop = Workshop::new();
        std::fs::write(workshop.path().join("latin"), b"gr\xfc\xdfe\n").unwrap();
        let text = workshop.succeed("read", json!({"path": "latin"})).await;
        assert_eq!(text, "gr\u{fffd}\u{fffd}e\n\n[Bytes that are not UTF-8 are shown as \u{fffd}.]");
    }

    #[tokio::test]
    async fn tilde_is_the_home_directory_of_the_options() {
        let mut workshop = Workshop::with(&[("home/notes", "found")]);
        assert!(workshop.fail("read", json!({"path": "~/notes"})).await.contains("does not exist"));
        workshop.options.home_directory = Some(workshop.path().join("home"));
        assert_eq!(workshop.succeed("read", json!({"path": "~/notes"})).await, "found");
    }

    #[tokio::test]
    async fn cancelled_call_ends_at_once() {
        let workshop = Workshop::with(&[("a", "a")]);
        workshop.cancel.cancel();
        assert!(workshop.fail("read", json!({"path": "a"})).await.starts_with("Aborted"));
    }
}
