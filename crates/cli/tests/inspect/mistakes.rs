//! Command lines that cannot be carried out say what to do.

use super::inspected::run;

#[track_caller]
fn check(arguments: &[&str], expected: &str) {
    let home = tempfile::tempdir().unwrap();
    let output = run(home.path(), arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && stderr.contains(expected), "{arguments:?}: {stderr}");
    assert!(!stderr.contains("http://"), "{stderr}");
}

#[test]
fn mistakes_say_what_to_do() {
    check(&["--"], "which command? bowline inspect -- COMMAND");
    check(&["pi", "x"], "write -- before the command: bowline inspect -- pi x");
    check(&["--model", "key", "--", "cat"], "--model is a flag of the agent: write it after the command");
    check(&["--save", "x.txt", "--", "cat"], "ends neither in .html");
    check(&["--save", "a.html", "--save", "b.html", "--", "cat"], "one page and one recording are enough");
    check(&["--dialect", "nonsense", "--", "cat"], "the dialects are: pi,");
    check(&["--", "/no/such/program"], "/no/such/program cannot be started");
}
