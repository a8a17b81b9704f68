//! Images that models take, told by their first bytes, whatever the file is called.

/// As many bytes as it takes to tell.
pub(crate) const HEAD: usize = 12;

/// The largest file whose base64 form stays within the 4.5 MiB that providers accept.
pub(crate) const MAX_BYTES: u64 = 4_718_592 / 4 * 3;

/// Returns the MIME type of the image that begins with `head`.
pub(crate) fn mime_type(head: &[u8]) -> Option<&'static str> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_the_type() {
        assert_eq!(mime_type(b"\x89PNG\r\n\x1a\n\0\0\0\r"), Some("image/png"));
        assert_eq!(mime_type(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        assert_eq!(mime_type(b"GIF89a..."), Some("image/gif"));
        assert_eq!(mime_type(b"RIFF\x10\0\0\0WEBPVP8 "), Some("image/webp"));
        assert_eq!(mime_type(b"RIFF\x10\0\0\0WAVE"), None);
        assert_eq!(mime_type(b""), None);
    }
}
