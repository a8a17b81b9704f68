//! What a mistyped word was probably meant to be.

/// Returns the name that a mistyped word most resembles.
pub(crate) fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let allowed = match word.trim_start_matches('-').chars().count() {
        0..=3 => 1,
        4..=6 => 2,
        _ => 3,
    };
    names
        .map(|name| (distance(&word, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Returns the edit distance of two words. Swapped neighbours, the likeliest slip, count as no difference.
fn distance(one: &str, other: &str) -> usize {
    if is_swapped(one.as_bytes(), other.as_bytes()) {
        return 0;
    }
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, expected) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *expected);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

fn is_swapped(one: &[u8], other: &[u8]) -> bool {
    let Some(at) = one.iter().zip(other).position(|(letter, expected)| letter != expected) else {
        return false;
    };
    match (one[at..].split_first_chunk(), other[at..].split_first_chunk()) {
        (Some(([first, second], rest)), Some((expected, expected_rest))) => {
            [*second, *first] == *expected && rest == expected_rest
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let names = ["demo", "auth", "sessions", "--model", "--mode"];
        let found = |word| nearest(word, names.into_iter());
        assert_eq!(found("dmeo"), Some("demo"));
        assert_eq!(found("Session"), Some("sessions"));
        assert_eq!(found("--modle"), Some("--model"));
        assert_eq!(found("--MODE"), Some("--mode"));
        assert_eq!(found("dog"), None);
        assert_eq!(found("de"), None);
        assert_eq!(found(""), None);
    }
}
