//! The hash of a tool call. Users consent to what they were shown, and this tells whether it is what runs.

use std::path::Path;

use bowline_core::message::Arguments;
use bowline_core::sandbox::Grants;
use ring::digest::{SHA256, digest};
use serde_json::json;

/// Returns the hash of a call: its tool, its arguments, its folder, where its path leads, and what it gets beyond the
/// sandbox.
pub fn call_digest(
    tool: &str,
    arguments: &Arguments,
    folder: &Path,
    target: Option<&Path>,
    grants: &Grants,
) -> String {
    // JSON keeps the parts apart, whatever they contain.
    let target = target.map(Path::to_string_lossy);
    let parts = json!([tool, arguments, folder.to_string_lossy(), target, grants]);
    let hash = digest(&SHA256, parts.to_string().as_bytes());
    hash.as_ref().iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_call_changes_its_digest() {
        let arguments = |value: &str| json!({ "command": value }).as_object().cloned().unwrap();
        let granted = Grants { unsandboxed: true, ..Grants::default() };
        let (none, here, there) = (Grants::default(), Path::new("/a"), Path::new("/b"));
        let digests = [
            call_digest("bash", &arguments("ls"), here, None, &none),
            call_digest("bash", &arguments("ls "), here, None, &none),
            call_digest("sh", &arguments("ls"), here, None, &none),
            call_digest("bash", &arguments("ls"), there, None, &none),
            call_digest("bash", &arguments("ls"), here, None, &granted),
            call_digest("bash", &arguments("ls"), here, Some(there), &none),
        ];
        for (index, digest) in digests.iter().enumerate() {
            assert!(digest.len() == 7 + 64 && digest.starts_with("sha256:"), "{digest}");
            assert!(!digests[..index].contains(digest), "{index}");
        }
        assert_eq!(digests[0], call_digest("bash", &arguments("ls"), here, None, &none));
    }
}
