//! The page about the client is complete.

use std::time::Duration;

use bowline_client::{COMMANDS, Timeouts};

const PAGE: &str = include_str!("../../../../docs/rust-client.md");

#[test]
fn page_names_every_method_of_the_builder() {
    let source = include_str!("../../src/builder.rs");
    let methods =
        source.lines().filter_map(|line| line.strip_prefix("    pub fn ")?.split(['(', '<']).next());
    let methods: Vec<_> = methods.collect();
    assert!(methods.len() > 20);
    for name in methods {
        assert!(PAGE.contains(&format!("`{name}`")), "the page does not name {name}");
    }
}

#[test]
fn page_names_every_command_that_waits_for_a_model_or_a_user() {
    let limits = PAGE.split("**Limits of time.**").nth(1).unwrap().split("\n\n").next().unwrap();
    let timeouts = Timeouts::default();
    for name in COMMANDS {
        let is_long = timeouts.limit(name).is_none_or(|limit| limit > Duration::from_secs(300));
        assert_eq!(is_long, limits.contains(&format!("`{name}`")) && !is_a_minute(&timeouts, name), "{name}");
    }
}

fn is_a_minute(timeouts: &Timeouts, name: &str) -> bool {
    timeouts.limit(name) == Some(Duration::from_secs(60))
}
