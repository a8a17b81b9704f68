//! Reads the arguments of tool calls: complete ones, and as much as there is of unfinished ones.

use bowline_core::message::Arguments;

use crate::limits::{ARGUMENT_DEPTH, ARGUMENT_VALUES};
use crate::lone_surrogates;

/// Why arguments are not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TooComplex {
    TooDeep,
    TooManyValues,
}

impl TooComplex {
    /// Returns what the model reads of such a call.
    pub(crate) fn told(self) -> String {
        let limit = match self {
            Self::TooDeep => format!("are nested more than {ARGUMENT_DEPTH} levels deep"),
            Self::TooManyValues => format!("have more than {ARGUMENT_VALUES} values"),
        };
        format!(
            "The arguments of this call {limit}, so it was not carried out. Call the tool again with simpler arguments."
        )
    }
}

/// Parses complete arguments. What is not a JSON object counts as no arguments.
pub(crate) fn read(text: &str) -> Result<Arguments, TooComplex> {
    match Scan::of(text).excess {
        Some(excess) => Err(excess),
        None => Ok(parse(text).unwrap_or_default()),
    }
}

/// Parses the beginning of a JSON object: an unterminated text is closed where it stops or, if that is not enough,
/// after the last complete member. Takes time proportional to the text.
pub(crate) fn read_partial(text: &str) -> Arguments {
    let scan = Scan::of(text);
    if scan.excess.is_none()
        && let Some(arguments) = parse(&scan.closed(text))
    {
        return arguments;
    }
    let Some(end) = scan.last_comma else { return Arguments::new() };
    let complete = &text[..end];
    parse(&Scan::of(complete).closed(complete)).unwrap_or_default()
}

fn parse(text: &str) -> Option<Arguments> {
    let repaired = || {
        let bytes = lone_surrogates::replaced(text.as_bytes())?;
        serde_json::from_slice(&bytes).ok()
    };
    serde_json::from_str(text).ok().or_else(repaired)
}

/// What one pass over the beginning of a JSON text finds. It stops where the text is too complex.
#[derive(Debug, Default)]
struct Scan {
    /// The closing brackets that are missing, the outermost first.
    closers: Vec<u8>,
    in_string: bool,
    /// Whether the text ends with the backslash of an escape.
    escaped: bool,
    /// Where the text can be cut to something complete.
    last_comma: Option<usize>,
    excess: Option<TooComplex>,
}

impl Scan {
    fn of(text: &str) -> Self {
        let mut scan = Self::default();
        let mut values = 0;
        for (at, byte) in text.bytes().enumerate() {
            if scan.in_string {
                match byte {
                    _ if scan.escaped => scan.escaped = false,
                    b'\\' => scan.escaped = true,
                    b'"' => scan.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => scan.in_string = true,
                b'{' | b'[' => {
                    scan.closers.push(if byte == b'{' { b'}' } else { b']' });
                    values += 1;
                    if scan.closers.len() > ARGUMENT_DEPTH {
                        scan.excess = Some(TooComplex::TooDeep);
                    }
                }
                b'}' | b']' => {
                    scan.closers.pop();
                }
                b',' => {
                    scan.last_comma = Some(at);
                    values += 1;
                }
                _ => {}
            }
            if values > ARGUMENT_VALUES {
                scan.excess = Some(TooComplex::TooManyValues);
            }
            if scan.excess.is_some() {
                break;
            }
        }
        scan
    }

    /// Returns the text with what is missing at its end.
    fn closed(&self, text: &str) -> String {
        let mut whole = text.to_owned();
        if self.in_string {
            if self.escaped {
                whole.pop();
            }
            whole.push('"');
        }
        whole.extend(self.closers.iter().rev().map(|closer| char::from(*closer)));
        whole
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn every_prefix_of_an_object_can_be_parsed() {
        let text = r#"{"a":"x\"\u00e9y","b":[1,{"c":null}],"d":{"e":true},"f":-1.5}"#;
        for end in 0..=text.len() {
            let arguments = read_partial(&text[..end]);
            if end > 22 {
                assert_eq!(arguments["a"], "x\"éy", "at {end}");
            }
        }
        assert_eq!(read_partial(text), serde_json::from_str::<Arguments>(text).unwrap());
    }

    #[test]
    fn unfinished_arguments_take_linear_time() {
        let started = Instant::now();
        for text in [
            format!(r#"{{"a":1,"b":{}"#, "[".repeat(1_000_000)),
            format!(r#"{{"a":1,"b":[{}"#, ",".repeat(1_000_000)),
            format!(r#"{{"a":1,"b":{}{}"#, "[".repeat(90), "1,".repeat(1_000_000)),
            format!(r#"{{"a":1,"b":"{}"#, r"\".repeat(1_000_001)),
        ] {
            let arguments = read_partial(&text);
            assert!(arguments.is_empty() || arguments["a"] == 1, "{arguments:?}");
        }
        // Copying the brackets at every comma took minutes.
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    }

    #[test]
    fn too_complex_arguments_are_refused() {
        let nested = |levels: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
        assert_eq!(read(&nested(ARGUMENT_DEPTH)), Err(TooComplex::TooDeep));
        assert!(read(&nested(ARGUMENT_DEPTH - 1)).is_ok_and(|arguments| arguments.len() == 1));
        let listed = |values: usize| format!(r#"{{"a":[{}1]}}"#, "1,".repeat(values));
        assert_eq!(read(&listed(ARGUMENT_VALUES)), Err(TooComplex::TooManyValues));
        assert!(read(&listed(ARGUMENT_VALUES - 10)).is_ok_and(|arguments| arguments.len() == 1));
        assert_eq!(read(r#"{"a":"[[[{{{,,,"}"#).unwrap()["a"], "[[[{{{,,,");
    }

    #[test]
    fn unfinished_arguments_keep_what_comes_before_the_excess() {
        let text = format!(r#"{{"path":"a","deep":{}"#, "[".repeat(5000));
        assert_eq!(read_partial(&text)["path"], "a");
    }

    #[test]
    fn half_of_a_surrogate_pair_is_replaced() {
        assert_eq!(read(r#"{"a":"x\ud83d"}"#).unwrap()["a"], "x\u{fffd}");
        assert_eq!(read_partial(r#"{"a":"x\ud83dy"#)["a"], "x\u{fffd}y");
    }
}
