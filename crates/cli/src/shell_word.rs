//! Words of a line for the shell.

/// Returns a word that the shell takes as it is.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns a word as a person would type it: with quotes only if it needs them.
pub(crate) fn typed(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+:@%=,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { quoted(word) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_if_they_need_it() {
        assert_eq!(typed("/home/me/a-b_1.json"), "/home/me/a-b_1.json");
        assert_eq!(typed("/home/me/My Files"), "'/home/me/My Files'");
        assert_eq!(typed("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!((typed(""), quoted("a")), ("''".to_owned(), "'a'".to_owned()));
    }
}
