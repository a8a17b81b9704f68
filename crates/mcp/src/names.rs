//! Names that models can use: `mcp__server__tool`, of letters, digits, `_` and `-`, at most 64 of them.
//!
//! A name depends only on the names of the servers in the configuration and of the tools of one server, not on their order
//! or on which servers run, so it means the same tool throughout a session. The part for the server never contains or ends
//! with what separates it from the tool, so no two servers can have tools of the same name.

use std::collections::HashMap;

use crate::limits::{LONGEST_NAME, LONGEST_SERVER_NAME};

const PREFIX: &str = "mcp__";
const SEPARATOR: &str = "__";

/// The length of what tells names apart that would otherwise be the same: `_` and six digits.
const SUFFIX: usize = 7;

/// Returns a part of tool names for each of the servers.
pub(crate) fn server_parts(names: &[&str]) -> Vec<String> {
    let plain = |name: &str| {
        let mut text = allowed(name);
        while text.contains(SEPARATOR) {
            text = text.replace(SEPARATOR, "_");
        }
        let text = text.trim_matches('_');
        if text.is_empty() { "server".to_owned() } else { text.to_owned() }
    };
    distinct(names, plain, LONGEST_SERVER_NAME)
}

/// Returns the full names for the tools or prompts of a server.
pub(crate) fn full_names(server_part: &str, names: &[&str]) -> Vec<String> {
    let start = format!("{PREFIX}{server_part}{SEPARATOR}");
    let plain = |name: &str| {
        let text = allowed(name);
        if text.is_empty() { "_".to_owned() } else { text }
    };
    let longest = LONGEST_NAME - start.len();
    distinct(names, plain, longest).into_iter().map(|name| format!("{start}{name}")).collect()
}

/// Replaces every character that a provider may refuse.
fn allowed(name: &str) -> String {
    let replace = |character: char| {
        if character.is_ascii_alphanumeric() || character == '-' { character } else { '_' }
    };
    name.chars().map(replace).collect()
}

/// Returns a form of each name that no other has. A name that is changed gets a suffix if it is too long or if another one
/// has the same form.
fn distinct(names: &[&str], plain: impl Fn(&str) -> String, longest: usize) -> Vec<String> {
    let forms: Vec<String> = names.iter().map(|name| plain(name)).collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for form in &forms {
        *uses.entry(form).or_default() += 1;
    }
    let distinguish = |(name, form): (&&str, &String)| {
        let is_alone = uses.get(form.as_str()) == Some(&1);
        if form.len() <= longest && (is_alone || form == name) {
            return form.clone();
        }
        // All characters are of one byte.
        let kept = &form[..form.len().min(longest - SUFFIX)];
        format!("{kept}_{:06x}", hash(name) & 0xff_ffff)
    };
    names.iter().zip(&forms).map(distinguish).collect()
}

/// Returns a number that is the same in every process and on every machine (FNV-1a).
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ordinary_names_stay_as_they_are() {
        assert_eq!(server_parts(&["time", "my-git"]), ["time", "my-git"]);
        assert_eq!(full_names("time", &["get_time"]), ["mcp__time__get_time"]);
    }

    #[test]
    fn names_are_what_providers_accept_and_differ() {
        let long = "x".repeat(300);
        let longer = "x".repeat(301);
        let servers = ["a b", "a_b", "a.b", "", "__", "é", &long, &longer, "a__b", "a_b_"];
        let parts = server_parts(&servers);
        let tools = ["run it", "run.it", "run_it", "", "日本", &long, &longer, "a__b"];
        let names: Vec<String> = parts.iter().flat_map(|part| full_names(part, &tools)).collect();
        let different: HashSet<_> = names.iter().collect();
        assert_eq!(different.len(), servers.len() * tools.len(), "{names:?}");
        for name in &names {
            let is_accepted = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            assert!(name.len() <= 64 && name.bytes().all(is_accepted), "{name}");
        }
        assert_eq!(parts[1], "a_b");
        assert!(names.contains(&"mcp__a_b__run_it".to_owned()));
    }

    #[test]
    fn name_does_not_depend_on_the_order() {
        let one = full_names("s", &["a.b", "a b", "c"]);
        let other = full_names("s", &["c", "a b", "a.b"]);
        assert_eq!(one, [other[2].clone(), other[1].clone(), other[0].clone()]);
    }

    #[test]
    fn servers_with_separators_do_not_share_names() {
        let parts = server_parts(&["a", "a_", "a__b"]);
        assert_eq!(parts.iter().collect::<HashSet<_>>().len(), 3, "{parts:?}");
        assert!(parts.iter().all(|part| !part.contains("__") && !part.ends_with('_')), "{parts:?}");
    }
}
