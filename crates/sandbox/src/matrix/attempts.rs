//! Every attempt, in the order of the matrix.

use super::attempt::Attempt;
use super::{devices, files, git, kernel, metadata, mounts, network, processes, proxy, secrets, sockets};

/// A subject of the matrix, as the table of results is grouped.
#[derive(Debug)]
pub(super) struct Group {
    pub title: &'static str,
    pub attempts: &'static [Attempt],
}

/// The subjects in order.
pub(super) const GROUPS: &[Group] = &[
    Group { title: "Files outside", attempts: files::ATTEMPTS },
    Group { title: "Metadata of files outside", attempts: metadata::ATTEMPTS },
    Group { title: "Devices and kernel files", attempts: devices::ATTEMPTS },
    Group { title: "Mounts and namespaces", attempts: mounts::ATTEMPTS },
    Group { title: "Kernel interfaces and programs", attempts: kernel::ATTEMPTS },
    Group { title: "Other processes", attempts: processes::ATTEMPTS },
    Group { title: "Network", attempts: network::ATTEMPTS },
    Group { title: "Sockets of this machine", attempts: sockets::ATTEMPTS },
    Group { title: "The proxy", attempts: proxy::ATTEMPTS },
    Group { title: "What others will run", attempts: git::ATTEMPTS },
    Group { title: "Secrets", attempts: secrets::ATTEMPTS },
];

/// Returns every attempt, in order.
pub fn all() -> impl Iterator<Item = &'static Attempt> {
    GROUPS.iter().flat_map(|group| group.attempts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_the_matrix_has_an_attempt_and_none_has_two() {
        let numbers: Vec<&str> = all().map(|attempt| attempt.number).collect();
        let mut digits: Vec<u32> = numbers
            .iter()
            .map(|number| number.trim_end_matches(char::is_alphabetic).parse().unwrap())
            .collect();
        assert!(digits.is_sorted());
        digits.dedup();
        assert_eq!(digits, (1..=113).collect::<Vec<u32>>());
        let unique: std::collections::BTreeSet<&str> = numbers.iter().copied().collect();
        assert_eq!(unique.len(), numbers.len());
    }

    #[test]
    fn attempts_test_what_the_sandbox_promises_or_says_that_it_does_not() {
        let (full, landlock) = crate::report::all_gaps();
        let gaps: Vec<String> = full.into_iter().chain(landlock).map(|gap| gap.id).collect();
        let is_promise = |id: &str| crate::report::all_promises().any(|(promise, ..)| promise == id);
        for attempt in all() {
            let id = attempt.promise;
            assert!(is_promise(id) || gaps.iter().any(|gap| gap == id), "{}: {id}", attempt.number);
        }
    }

    #[test]
    fn what_is_not_enforced_is_reported_as_such() {
        use crate::matrix::Expectation;
        let (full, landlock) = crate::report::all_gaps();
        for attempt in all() {
            let is_known = |gaps: &[bowline_core::sandbox::NotEnforced]| {
                gaps.iter().any(|gap| gap.id == attempt.promise)
            };
            if attempt.full == Expectation::NotEnforced {
                assert!(is_known(&full), "{}", attempt.number);
            }
            if attempt.landlock == Expectation::NotEnforced {
                assert!(is_known(&full) || is_known(&landlock), "{}", attempt.number);
            }
        }
    }

    #[test]
    fn names_fit_the_table() {
        for attempt in all() {
            assert!(attempt.name.chars().count() <= 46, "{}", attempt.name);
            assert!(attempt.promise.chars().count() <= 22, "{}", attempt.promise);
        }
    }
}
