//! Tool call ids, in the form that an API accepts.
//!
//! A session may contain ids from any provider, and some providers reuse theirs. The ids that are sent are valid for
//! the requested API and unique in the request. They depend only on earlier messages, so that a growing conversation
//! keeps its prefix, and with it the provider's cache.

use std::borrow::Cow;
use std::collections::HashSet;

/// The form of a call id that an API accepts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdRule {
    pub(crate) longest: usize,
    pub(crate) shortest: usize,
    /// Whether `_` and `-` are allowed besides letters and digits.
    pub(crate) joiners: bool,
    /// Whether a model gets its own ids back unchanged: some models parse them.
    pub(crate) keeps_own: bool,
}

/// The longest id of the model itself that is kept unchanged.
const LONGEST_OWN: usize = 256;

/// The length of the digest that makes a shortened id unique.
const DIGEST: usize = 9;

impl IdRule {
    /// `^[a-zA-Z0-9_-]{1,64}$`: required by Anthropic, OpenAI Responses and Bedrock, and accepted by Google.
    pub(crate) const COMMON: Self = Self::words(64);

    /// `[a-zA-Z0-9_-]`, up to a length.
    pub(crate) const fn words(longest: usize) -> Self {
        Self { longest, shortest: 1, joiners: true, keeps_own: false }
    }

    fn allows(self, letter: char) -> bool {
        letter.is_ascii_alphanumeric() || (self.joiners && matches!(letter, '_' | '-'))
    }

    fn accepts(self, id: &str) -> bool {
        (self.shortest..=self.longest).contains(&id.len()) && id.chars().all(|letter| self.allows(letter))
    }

    /// Returns the id with every other character replaced, truncated to make room for a digest that keeps it unique.
    fn shorten(self, id: &str, attempt: usize) -> String {
        let digest = digest(id, attempt);
        let room = self.longest.saturating_sub(DIGEST + 1);
        if !self.joiners || room == 0 {
            return digest;
        }
        let mut short: String = id.chars().take(room).map(|letter| self.spell(letter)).collect();
        short.push('_');
        short.push_str(&digest);
        short
    }

    fn spell(self, letter: char) -> char {
        if self.allows(letter) { letter } else { '_' }
    }
}

/// Assigns the ids of one request.
#[derive(Debug)]
pub(super) struct CallIds<'a> {
    rule: IdRule,
    used: HashSet<Cow<'a, str>>,
}

impl<'a> CallIds<'a> {
    pub(super) fn new(rule: IdRule) -> Self {
        Self { rule, used: HashSet::new() }
    }

    /// Returns the id to send for a call. `own` is whether the requested model made the call.
    pub(super) fn next(&mut self, id: &'a str, own: bool) -> Cow<'a, str> {
        // Ids of OpenAI's Responses API have two parts; other APIs know only the first.
        let first = id.split_once('|').map_or(id, |(first, _)| first);
        let kept = own && self.rule.keeps_own && first == id && (1..=LONGEST_OWN).contains(&id.len());
        let mut candidate = if kept || self.rule.accepts(first) {
            Cow::Borrowed(first)
        } else {
            let spelled: String = first.chars().map(|letter| self.rule.spell(letter)).collect();
            Cow::Owned(if self.rule.accepts(&spelled) { spelled } else { self.rule.shorten(id, 0) })
        };
        let mut attempt = 0;
        while self.used.contains(&candidate) {
            attempt += 1;
            candidate = Cow::Owned(self.rule.shorten(id, attempt));
        }
        self.used.insert(candidate.clone());
        candidate
    }
}

/// Returns nine letters and digits derived from an id: its FNV-1a hash in base 36.
fn digest(id: &str, attempt: usize) -> String {
    const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let bytes = id.bytes().chain(attempt.to_le_bytes());
    let mut hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut digest = String::with_capacity(DIGEST);
    for _ in 0..DIGEST {
        digest.push(char::from(LETTERS[(hash % 36) as usize]));
        hash /= 36;
    }
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    const NINE: IdRule = IdRule { longest: 9, shortest: 9, joiners: false, keeps_own: false };

    #[track_caller]
    fn check(rule: IdRule, own: bool, ids: &[&str], expected: &[&str]) {
        let mut sent = CallIds::new(rule);
        let seen: Vec<String> = ids.iter().map(|id| sent.next(id, own).into_owned()).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn valid_ids_are_unchanged() {
        check(IdRule::words(64), false, &["toolu_1", "call-2|fc_3"], &["toolu_1", "call-2"]);
        check(NINE, false, &["abcDEF123"], &["abcDEF123"]);
    }

    #[test]
    fn other_ids_are_rewritten_and_shortened() {
        check(IdRule::words(20), false, &["functions.ls:0", ""], &["functions_ls_0", "_pr2fahlsj"]);
        let mut sent = CallIds::new(IdRule::words(40));
        let long = sent.next(&*"x.".repeat(99).leak(), false);
        assert_eq!(long.len(), 40);
        assert!(IdRule::words(40).accepts(&long), "{long}");
        let mut sent = CallIds::new(NINE);
        assert!(NINE.accepts(&sent.next("toolu_1", false)));
    }

    #[test]
    fn ids_are_unique_in_a_request() {
        let mut sent = CallIds::new(IdRule::words(64));
        let all: HashSet<String> =
            ["a", "a", "a.b", "a_b", "a|x", "a", ""].map(|id| sent.next(id, false).into_owned()).into();
        assert_eq!(all.len(), 7, "{all:?}");
    }

    #[test]
    fn model_may_keep_its_own_ids() {
        let rule = IdRule { keeps_own: true, ..IdRule::words(40) };
        check(rule, true, &["functions.ls:0"], &["functions.ls:0"]);
        check(rule, false, &["functions.ls:0"], &["functions_ls_0"]);
        check(rule, true, &["call_1|fc_1"], &["call_1"]);
    }
}
