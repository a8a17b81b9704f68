//! Tests that need a sandbox, on a machine that has none.

/// The variable that lets such tests pass without trying anything.
const ALLOWED: &str = "BOWLINE_TEST_WITHOUT_SANDBOX";

/// Fails the test, because the machine lacks a sandbox that it needs, unless [`ALLOWED`] is 1. A test that skips itself
/// looks like one that has passed.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "the switch of these tests")]
#[expect(clippy::print_stdout, reason = "what was not tested is said")]
pub fn sandbox_is_missing(why: &str) {
    let is_allowed = std::env::var_os(ALLOWED).is_some_and(|value| value == "1");
    assert!(is_allowed, "this machine has no sandbox for this test; {ALLOWED}=1 leaves it out: {why}");
    println!("not tested, because this machine has no sandbox for it: {why}");
}
