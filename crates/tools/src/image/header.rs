//! Reads the width and height of an image from its first bytes.

/// Returns the width and height of a PNG or a JPEG, if they are in `bytes`.
pub(super) fn dimensions(bytes: &[u8]) -> Option<(usize, usize)> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        let side = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        return Some((side(16)?.try_into().ok()?, side(20)?.try_into().ok()?));
    }
    if !bytes.starts_with(b"\xff\xd8") {
        return None;
    }
    let mut rest = &bytes[2..];
    loop {
        // Segments start with one or more 0xff.
        let marker = rest.iter().position(|byte| *byte != 0xff).filter(|place| *place > 0)?;
        let kind = rest[marker];
        rest = &rest[marker + 1..];
        let number =
            |at: usize| Some(usize::from(u16::from_be_bytes(rest.get(at..at + 2)?.try_into().ok()?)));
        match kind {
            // The start of a frame; the three exceptions in this range are other markers.
            0xc0..=0xcf if !matches!(kind, 0xc4 | 0xc8 | 0xcc) => return Some((number(5)?, number(3)?)),
            // The image data, or the end.
            0xda | 0xd9 => return None,
            _ => rest = rest.get(number(0)?..)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_gives_width_and_height() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\x02\0\0\0\x03\x08\x02";
        assert_eq!(dimensions(png), Some((258, 3)));
        let jpeg = b"\xff\xd8\xff\xe0\0\x04xx\xff\xff\xc4\0\x02\xff\xc2\0\x11\x08\0\x09\x01\0\x03";
        assert_eq!(dimensions(jpeg), Some((256, 9)));
    }

    #[test]
    fn incomplete_header_gives_nothing() {
        for bytes in [
            &b""[..],
            b"GIF89a",
            b"\x89PNG\r\n\x1a\n\0\0",
            b"\xff\xd8",
            b"\xff\xd8\xff\xe0\xff\xff",
            b"\xff\xd8\xff\xd9",
        ] {
            assert_eq!(dimensions(bytes), None, "{bytes:?}");
        }
    }
}
