//! Renders images, embedded into the page.

use crate::escape;
use crate::format;

/// The image types that browsers support and that cannot contain scripts.
const KINDS: [&str; 5] = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];

/// Appends an image, or a note if it cannot be shown.
pub(crate) fn push_image(page: &mut String, data: &str, mime_type: &str) {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let size = format::bytes(data.len() / 4 * 3);
    let kind = KINDS.iter().find(|kind| kind.eq_ignore_ascii_case(mime_type));
    match kind {
        Some(kind) if !data.is_empty() && data.bytes().all(is_base64) => {
            page.push_str("<img class=\"picture\" loading=\"lazy\" decoding=\"async\" alt=\"");
            page.push_str(&format!("{kind}, {size}"));
            page.push_str("\" src=\"data:");
            page.push_str(kind);
            page.push_str(";base64,");
            page.push_str(data);
            page.push_str("\">\n");
        }
        _ => {
            page.push_str("<p class=\"cut\">An image that cannot be shown: ");
            escape::push_text(page, if mime_type.len() > 80 { "of an unknown kind" } else { mime_type });
            page.push_str(&format!(", {size}</p>\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(data: &str, mime_type: &str) -> String {
        let mut page = String::new();
        push_image(&mut page, data, mime_type);
        page
    }

    #[test]
    fn only_valid_images_of_known_types_are_shown() {
        assert!(image("iVBORw0KGgo=", "image/png").contains("src=\"data:image/png;base64,iVBORw0KGgo=\""));
        for (data, mime_type) in [
            ("PHN2Zz4=", "image/svg+xml"),
            ("AAAA", "text/html"),
            ("AA\" onerror=\"x", "image/png"),
            ("", "image/png"),
            ("AAAA", "image/png\" onerror=\"x"),
        ] {
            let page = image(data, mime_type);
            assert!(
                !page.contains("<img") && !page.contains('"') || page.contains("class=\"cut\""),
                "{page}"
            );
            assert!(!page.contains("<img"), "{page}");
        }
    }
}
