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
    fn names_fit_the_table() {
        for attempt in all() {
            assert!(attempt.name.chars().count() <= 46, "{}", attempt.name);
            assert!(attempt.promise.chars().count() <= 18, "{}", attempt.promise);
        }
    }
}
