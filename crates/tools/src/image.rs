//! Images that models accept, recognised by their first bytes whatever the file name, and smaller copies of those that
//! are too large for a model.
//!
//! Only PNG and JPEG are resized. Of other formats only the size in bytes is known; one that is too large is not shown.

mod codec;
mod header;
mod orientation;
mod picture;

use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bowline_core::message::Content;

use codec::Format;
use header::dimensions;

/// The number of bytes that identify the format.
pub(crate) const HEAD: usize = 12;

/// The longest base64 form of an image that providers accept.
const MAX_BASE64: usize = 4_718_592;

/// The largest image, in bytes, whose base64 form fits that limit.
pub(crate) const MAX_BYTES: usize = MAX_BASE64 / 4 * 3;

/// The largest width and height of an image.
const MAX_SIDE: usize = 2000;

/// The sizes of a copy, in percent of the largest allowed, tried until the copy has few enough bytes.
const STEPS: [usize; 4] = [100, 70, 50, 35];

/// The largest image that is resized, in bytes and in pixels: a small file must not expand to exhaust memory.
pub(crate) const MAX_SOURCE_BYTES: usize = 32 * 1024 * 1024;
const MAX_PIXELS: usize = 32_000_000;

/// How much of the base64 of an image is decoded to find its width and height. A multiple of four.
const HEAD_BASE64: usize = 128 * 1024;

/// Base64 as clients send it: some omit the padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Decoded images are large, so only one is decoded at a time.
static DECODING: Mutex<()> = Mutex::new(());

/// The result of fitting an image to the limits.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fitted {
    /// It can be shown unchanged.
    Unchanged,
    Resized(Resized),
}

/// A smaller copy of an image. The sizes are width and height.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Resized {
    pub(crate) bytes: Vec<u8>,
    pub(crate) mime_type: &'static str,
    original: (usize, usize),
    shown: (usize, usize),
}

/// Why an image cannot be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// Its format cannot be resized, or it is corrupt.
    Unreadable,
    /// It is too large to be decoded.
    TooLarge,
}

/// Returns the MIME type of the image that starts with `head`.
pub fn mime_type(head: &[u8]) -> Option<&'static str> {
    if head.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if head.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
        Some("image/gif")
    } else if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else {
        None
    }
}

/// Returns whether an image of a message can be shown unchanged, judging cheaply by its first bytes. Other content always
/// can.
pub fn fits(content: &Content) -> bool {
    let Content::Image { data, .. } = content else { return true };
    let head = data.get(..HEAD_BASE64).unwrap_or(data);
    let Ok(head) = BASE64.decode(head) else { return data.len() <= MAX_BASE64 };
    let size_is_known = Format::of(&head).is_none() || dimensions(&head).is_some();
    data.len() <= MAX_BASE64 && has_small_sides(&head) && (size_is_known || data.len() <= HEAD_BASE64)
}

/// Resizes the images of a message to fit, and notes in its text what was done. Slow: run it on the blocking pool.
pub fn fit_all(mut text: String, content: Vec<Content>) -> (String, Vec<Content>) {
    let mut kept = Vec::with_capacity(content.len());
    let mut notes = Vec::new();
    for block in content {
        let Content::Image { data, .. } = &block else {
            kept.push(block);
            continue;
        };
        match BASE64.decode(data).map_err(|_| Unfit::Unreadable).and_then(|bytes| fit(&bytes)) {
            Ok(Fitted::Unchanged) => kept.push(block),
            Ok(Fitted::Resized(resized)) => {
                notes.extend(resized.note());
                kept.push(resized.into_content());
            }
            Err(unfit) => notes.push(unfit.note().to_owned()),
        }
    }
    for note in notes {
        text.push_str(if text.is_empty() { "" } else { "\n\n" });
        text.push_str(&note);
    }
    (text, kept)
}

/// Resizes an image to fit a model's limits.
pub(crate) fn fit(bytes: &[u8]) -> Result<Fitted, Unfit> {
    fit_into(MAX_BYTES, bytes)
}

fn fit_into(max_bytes: usize, bytes: &[u8]) -> Result<Fitted, Unfit> {
    if bytes.len() <= max_bytes && has_small_sides(bytes) {
        return Ok(Fitted::Unchanged);
    }
    let format = Format::of(bytes).ok_or(Unfit::Unreadable)?;
    let _only_one = DECODING.lock().unwrap_or_else(PoisonError::into_inner);
    let (picture, orientation) = format.decode(bytes, MAX_PIXELS)?;
    let original = orientation.size_of(picture.size());
    let longest = MAX_SIDE.min(original.0.max(original.1));
    for step in STEPS {
        let smaller = picture.shrunk(longest * step / 100).turned(orientation);
        // Drawings stay sharp as PNG if that fits; photographs are small only as JPEG.
        let formats = if format == Format::Png { &[Format::Png, Format::Jpeg][..] } else { &[Format::Jpeg] };
        for format in formats {
            let bytes = format.encode(&smaller)?;
            if bytes.len() <= max_bytes {
                let (mime_type, shown) = (format.mime_type(), smaller.size());
                return Ok(Fitted::Resized(Resized { bytes, mime_type, original, shown }));
            }
        }
    }
    Err(Unfit::TooLarge)
}

fn has_small_sides(bytes: &[u8]) -> bool {
    dimensions(bytes).is_none_or(|(width, height)| width <= MAX_SIDE && height <= MAX_SIDE)
}

impl Resized {
    /// Returns how to map coordinates to the original, in pi's words.
    pub(crate) fn note(&self) -> Option<String> {
        let ((width, height), (shown_width, shown_height)) = (self.original, self.shown);
        #[expect(clippy::cast_precision_loss, reason = "the width of an image")]
        let scale = width as f64 / shown_width as f64;
        (self.original != self.shown).then(|| {
            format!(
                "[Image: original {width}x{height}, displayed at {shown_width}x{shown_height}. Multiply coordinates by {scale:.2} to map to original image.]"
            )
        })
    }

    pub(crate) fn into_content(self) -> Content {
        Content::Image { data: BASE64.encode(self.bytes), mime_type: self.mime_type.to_owned() }
    }
}

impl Unfit {
    /// Returns why there is no smaller copy.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Unreadable => "only an intact PNG or JPEG can be",
            Self::TooLarge => "it has more than 32 million pixels",
        }
    }

    /// Returns the text that replaces the image, in pi's words.
    fn note(self) -> &'static str {
        match self {
            Self::Unreadable => "[Image omitted: could not be converted to a supported inline image format.]",
            Self::TooLarge => "[Image omitted: could not be resized below the inline image size limit.]",
        }
    }
}

#[cfg(test)]
mod tests;
