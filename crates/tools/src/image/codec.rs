//! Decodes and encodes PNG and JPEG.

use std::io::Cursor;

use jpeg_encoder::Encoder as JpegEncoder;
use png::Transformations;
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::orientation::Orientation;
use super::picture::Picture;
use super::{Unfit, mime_type};

/// The quality of an encoded JPEG, out of 100.
const QUALITY: u8 = 80;

/// What begins a scan in a JPEG. A progressive one has about ten; each costs a pass over all pixels, however few bytes it
/// has.
const START_OF_SCAN: [u8; 2] = [0xff, 0xda];
pub(super) const MAX_SCANS: usize = 100;

/// A format that can be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Png,
    Jpeg,
}

impl Format {
    /// Returns the format, judging by the first bytes.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        [Self::Png, Self::Jpeg].into_iter().find(|format| mime_type(bytes) == Some(format.mime_type()))
    }

    pub(super) fn mime_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
        }
    }

    /// Decodes an image, unless it has more than `max_pixels`.
    pub(super) fn decode(self, bytes: &[u8], max_pixels: usize) -> Result<(Picture, Orientation), Unfit> {
        match self {
            Self::Png => Ok((decode_png(bytes, max_pixels)?, Orientation::default())),
            Self::Jpeg => decode_jpeg(bytes, max_pixels),
        }
    }

    /// Encodes a picture. A JPEG cannot be transparent.
    pub(super) fn encode(self, picture: &Picture) -> Result<Vec<u8>, Unfit> {
        match self {
            Self::Png => encode_png(picture),
            Self::Jpeg => encode_jpeg(&picture.opaque()),
        }
    }
}

fn decode_png(bytes: &[u8], max_pixels: usize) -> Result<Picture, Unfit> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(Transformations::normalize_to_color8());
    // Compressed texts and colour profiles are not shown, but can expand a thousandfold.
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info().map_err(|_| Unfit::Unreadable)?;
    let size = (reader.info().width, reader.info().height);
    check(size, max_pixels)?;
    let mut pixels = vec![0; reader.output_buffer_size().ok_or(Unfit::TooLarge)?];
    let frame = reader.next_frame(&mut pixels).map_err(|_| Unfit::Unreadable)?;
    pixels.truncate(frame.buffer_size());
    picture((frame.width, frame.height), frame.color_type.samples(), pixels)
}

fn decode_jpeg(bytes: &[u8], max_pixels: usize) -> Result<(Picture, Orientation), Unfit> {
    if memchr::memmem::find_iter(bytes, &START_OF_SCAN).nth(MAX_SCANS).is_some() {
        return Err(Unfit::Unreadable);
    }
    let options = DecoderOptions::default()
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX))
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|_| Unfit::Unreadable)?;
    let info = decoder.info().ok_or(Unfit::Unreadable)?;
    let size = (info.width.into(), info.height.into());
    check(size, max_pixels)?;
    let pixels = decoder.decode().map_err(|_| Unfit::Unreadable)?;
    let orientation = decoder.exif().map(|exif| Orientation::read(exif)).unwrap_or_default();
    Ok((picture(size, 3, pixels)?, orientation))
}

fn check((width, height): (u32, u32), max_pixels: usize) -> Result<(), Unfit> {
    let pixels = u64::from(width) * u64::from(height);
    if usize::try_from(pixels).is_ok_and(|pixels| pixels <= max_pixels) {
        Ok(())
    } else {
        Err(Unfit::TooLarge)
    }
}

fn picture((width, height): (u32, u32), channels: usize, pixels: Vec<u8>) -> Result<Picture, Unfit> {
    let (width, height) = (width.try_into(), height.try_into());
    let (Ok(width), Ok(height)) = (width, height) else { return Err(Unfit::TooLarge) };
    Picture::new(width, height, channels, pixels).ok_or(Unfit::Unreadable)
}

fn encode_png(picture: &Picture) -> Result<Vec<u8>, Unfit> {
    let (width, height) = sides::<u32>(picture)?;
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(match picture.channels() {
        1 => png::ColorType::Grayscale,
        2 => png::ColorType::GrayscaleAlpha,
        3 => png::ColorType::Rgb,
        _ => png::ColorType::Rgba,
    });
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(picture.bytes()));
    written.map_err(|_| Unfit::Unreadable)?;
    Ok(bytes)
}

fn encode_jpeg(picture: &Picture) -> Result<Vec<u8>, Unfit> {
    let (width, height) = sides::<u16>(picture)?;
    let is_grey = picture.channels() == 1;
    let colours = if is_grey { jpeg_encoder::ColorType::Luma } else { jpeg_encoder::ColorType::Rgb };
    let mut bytes = Vec::new();
    let written = JpegEncoder::new(&mut bytes, QUALITY).encode(picture.bytes(), width, height, colours);
    written.map_err(|_| Unfit::Unreadable)?;
    Ok(bytes)
}

fn sides<T: TryFrom<usize>>(picture: &Picture) -> Result<(T, T), Unfit> {
    let (width, height) = picture.size();
    let side = |length: usize| T::try_from(length).map_err(|_| Unfit::TooLarge);
    Ok((side(width)?, side(height)?))
}
