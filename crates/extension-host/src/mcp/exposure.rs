//! Which tools of a server may be used, as extensions of pi say it: `exposure` for all and `toolExposure` for some.
//!
//! pi can also keep tools from the model until it searches for them. Here every tool that is not hidden is declared.

use serde_json::{Map, Value};

/// The most names and patterns.
const MOST_PATTERNS: usize = 1000;

/// The ways in which a tool reaches the model in pi.
const WAYS: [&str; 5] = ["direct", "codemode", "codemode-deferred", "deferred", "hidden"];

/// Which tools of a server are hidden.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Exposure {
    is_hidden: bool,
    /// Names and patterns with whether their tools are hidden.
    single: Vec<(String, bool)>,
}

impl Exposure {
    /// Takes the members about exposure out of the description of a server. The error is a clause for its author.
    pub fn take(description: &mut Map<String, Value>) -> Result<Self, String> {
        let is_hidden = match description.shift_remove("exposure") {
            None | Some(Value::Null) => false,
            Some(way) => hides("exposure", &way)?,
        };
        let single = match description.shift_remove("toolExposure") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Object(ways)) if ways.len() <= MOST_PATTERNS => {
                let pair = |(name, way): (&String, &Value)| Ok((name.clone(), hides("toolExposure", way)?));
                ways.iter().map(pair).collect::<Result<_, String>>()?
            }
            Some(_) => {
                return Err(format!("toolExposure must be an object of at most {MOST_PATTERNS} names"));
            }
        };
        Ok(Self { is_hidden, single })
    }

    /// Tells whether the tool of this name on the server may be used. A name takes precedence over patterns, of which the
    /// first one counts.
    pub fn shows(&self, tool: &str) -> bool {
        let named = self.single.iter().find(|(name, _)| name == tool);
        let found = named.or_else(|| self.single.iter().find(|(pattern, _)| matches(pattern, tool)));
        !found.map_or(self.is_hidden, |(_, is_hidden)| *is_hidden)
    }
}

fn hides(member: &str, way: &Value) -> Result<bool, String> {
    match way.as_str().filter(|way| WAYS.contains(way)) {
        Some(way) => Ok(way == "hidden"),
        None => Err(format!("{member} must be one of {}", WAYS.join(", "))),
    }
}

/// Tells whether a name fits a pattern, in which `*` stands for any characters. Takes time linear in both.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let mut parts = rest.split('*');
    let last = parts.next_back().unwrap_or_default();
    for part in parts {
        match name.find(part) {
            Some(place) => name = &name[place + part.len()..],
            None => return false,
        }
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn exposure(description: &Value) -> Result<Exposure, String> {
        let mut members = description.as_object().unwrap().clone();
        let exposure = Exposure::take(&mut members)?;
        assert!(!members.contains_key("exposure") && !members.contains_key("toolExposure"));
        Ok(exposure)
    }

    #[test]
    fn names_take_precedence_over_patterns_and_the_first_pattern_counts() {
        let ways = json!({"get_secret": "hidden", "get_*": "direct", "*": "hidden", "*_x": "direct"});
        let seen = exposure(&json!({"exposure": "codemode", "toolExposure": ways})).unwrap();
        let shown = ["get_it", "get_secret", "put_x"].map(|tool| seen.shows(tool));
        assert_eq!(shown, [true, false, false]);
        assert!(exposure(&json!({})).unwrap().shows("any"));
        assert!(!exposure(&json!({"exposure": "hidden"})).unwrap().shows("any"));
    }

    #[test]
    fn patterns_match_the_whole_name() {
        for (pattern, name, expected) in [
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("*b*", "abc", true),
            ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("abc", "abc", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn unknown_ways_are_refused() {
        assert_eq!(
            exposure(&json!({"exposure": "sometimes"})).unwrap_err(),
            "exposure must be one of direct, codemode, codemode-deferred, deferred, hidden"
        );
        assert!(exposure(&json!({"toolExposure": []})).is_err());
    }
}
