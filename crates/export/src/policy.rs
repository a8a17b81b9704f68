//! The content security policy of the page: the browser runs only our script and applies only our style, identified by
//! their hashes, shows only embedded images, and fetches nothing, even if escaping fails.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};

/// The colours and fonts that all pages share.
pub const THEME_STYLE: &str = include_str!("theme.css");

/// The script that all pages share. Other scripts of a page follow it.
pub const THEME_SCRIPT: &str = include_str!("theme.js");

/// The style of the page.
pub(crate) const STYLE: &str = concat!(include_str!("theme.css"), include_str!("page.css"));

/// The script of the page.
pub(crate) const SCRIPT: &str = concat!(include_str!("theme.js"), include_str!("page.js"));

/// Returns the policy for a page with one style and one script.
pub fn content_security_policy(style: &str, script: &str) -> String {
    format!(
        "default-src 'none'; img-src data:; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
        hash(style),
        hash(script)
    )
}

fn hash(content: &str) -> String {
    format!("sha256-{}", STANDARD.encode(digest(&SHA256, content.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_match_those_of_browsers() {
        // The example of the standard: https://www.w3.org/TR/CSP3/#example-e7ac3b1d
        assert_eq!(hash("doSomething();"), "sha256-RFWPLDbv2BY+rCkDzsE+0fr8ylGr2R2faWMhq4lfEQc=");
    }

    #[test]
    fn style_and_script_cannot_end_their_elements() {
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
        // The parser would turn it into a line feed, which would change the hash.
        assert!(!STYLE.contains('\r') && !SCRIPT.contains('\r'));
    }
}
