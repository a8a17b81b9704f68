//! Names similar to a mistyped one.

/// The most names that are suggested.
const MOST: usize = 5;

/// Returns the names that contain something close to `wanted`, the closest first.
pub(crate) fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted: Vec<char> = wanted.to_lowercase().chars().collect();
    let allowed = wanted.len() / 4;
    if allowed == 0 {
        return Vec::new();
    }
    let mut found: Vec<(usize, usize, &str)> = names
        .filter_map(|name| {
            let distance = distance_within(&wanted, name);
            (distance <= allowed).then_some((distance, name.len(), name))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().take(MOST).map(|(_, _, name)| name).collect()
}

/// Returns how many characters of `wanted` must be changed, added or removed to make it a part of `name`.
fn distance_within(wanted: &[char], name: &str) -> usize {
    // Each column is a position in the name; the first row is free, because a part may start anywhere.
    let mut column: Vec<usize> = (0..=wanted.len()).collect();
    let mut best = wanted.len();
    for letter in name.to_lowercase().chars() {
        let mut diagonal = column[0];
        for (row, expected) in wanted.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *expected);
            diagonal = column[row + 1];
            column[row + 1] = replaced.min(diagonal + 1).min(column[row] + 1);
        }
        best = best.min(column[wanted.len()]);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_names_are_found_within_longer_ones() {
        let names = ["claude-sonnet-5", "claude-opus-5", "gpt-5.5", "deepseek-chat"];
        let found = |wanted: &str| near(wanted, names.iter().copied());
        assert_eq!(found("sonet"), ["claude-sonnet-5"]);
        assert_eq!(found("claude-opsu-5"), ["claude-opus-5"]);
        assert_eq!(found("depseek"), ["deepseek-chat"]);
        assert_eq!(found("zzzzzz"), [""; 0]);
        assert_eq!(found("x"), [""; 0]);
    }
}
