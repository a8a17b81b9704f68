//! Where a check is in a value. It becomes a JSON Pointer only if something is wrong there.

use std::fmt::Write as _;

use crate::compile::pointer;
use crate::wording::shorten;

/// How much of a name and of a whole path is shown.
const SHOWN_NAME: usize = 100;
const SHOWN_PATH: usize = 1000;

/// A place in a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'value> {
    All,
    Member(&'value Self, &'value str),
    Item(&'value Self, usize),
}

impl Place<'_> {
    /// Returns the JSON Pointer, of which long names and the middle are left out.
    pub fn path(&self) -> String {
        let mut steps = Vec::new();
        let mut place = self;
        loop {
            place = match place {
                Self::All => break,
                Self::Member(outer, _) | Self::Item(outer, _) => {
                    steps.push(place);
                    outer
                }
            };
        }
        let mut path = String::new();
        for step in steps.into_iter().rev() {
            match step {
                Self::Member(_, name) => path.push_str(&pointer("", &shorten(name, SHOWN_NAME))),
                // Writing to a string cannot fail.
                Self::Item(_, index) => drop(write!(path, "/{index}")),
                Self::All => {}
            }
        }
        let count = path.chars().count();
        if count <= SHOWN_PATH {
            return path;
        }
        let beginning: String = path.chars().take(SHOWN_PATH / 2).collect();
        let end: String = path.chars().skip(count - SHOWN_PATH / 2).collect();
        format!("{beginning}…{end}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nest(outer: &Place<'_>, left: usize, name: &str) -> usize {
        let inner = Place::Member(outer, name);
        if left == 0 { inner.path().chars().count() } else { nest(&inner, left - 1, name) }
    }

    #[test]
    fn paths_are_pointers_and_short() {
        let (outer, name) = (Place::Member(&Place::All, "a/b~"), "x".repeat(150));
        assert_eq!(Place::All.path(), "");
        assert_eq!(Place::Item(&outer, 3).path(), "/a~1b~0/3");
        let long = Place::Member(&outer, &name).path();
        assert_eq!(long, format!("/a~1b~0/{}… (150 bytes in all)", "x".repeat(100)));
        assert_eq!(nest(&Place::All, 100, &name), 1001);
    }
}
