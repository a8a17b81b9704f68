//! The content security policy of the page: the browser runs our script and applies our style, by their hashes, shows
//! images that are in the page, and does and fetches nothing else, whatever a session may have got past us.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};

/// The style of the page.
pub(crate) const STYLE: &str = include_str!("page.css");

/// The script of the page.
pub(crate) const SCRIPT: &str = include_str!("page.js");

/// Returns the policy for a page with `STYLE` and `SCRIPT`.
pub(crate) fn content_security_policy() -> String {
    format!(
        "default-src 'none'; img-src data:; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

fn hash(content: &str) -> String {
    format!("sha256-{}", STANDARD.encode(digest(&SHA256, content.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_browsers() {
        // The example of the standard: https://www.w3.org/TR/CSP3/#example-e7ac3b1d
        assert_eq!(hash("doSomething();"), "sha256-RFWPLDbv2BY+rCkDzsE+0fr8ylGr2R2faWMhq4lfEQc=");
    }

    #[test]
    fn neither_style_nor_script_can_end_their_element() {
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
        // The parser would make a line feed of it, and the hash would be another.
        assert!(!STYLE.contains('\r') && !SCRIPT.contains('\r'));
    }
}
