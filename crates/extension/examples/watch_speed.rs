//! Measures what stream rules cost per byte of an answer, with few rules and with many, in short and in long answers:
//! `cargo run --release -p bowline-extension --example watch_speed`.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for the terminal")]

use std::time::Instant;

use bowline_core::stream::Update;
use bowline_extension::stream_rules::{Places, Watch, load};

/// Deltas as providers send them.
const DELTAS: [&str; 4] = [
    "so the parser returns a ",
    "value: `let x = parse(",
    "input)?;` and then we ",
    "look at the next token\n",
];

fn main() {
    for rules in [1, 10, 100] {
        let mut watch = watch_for(rules);
        for deltas in [1_000, 8_000, 64_000] {
            watch.restart();
            watch.observe(&Update::TextStart { content_index: 0 }, |_| true);
            let updates = DELTAS.map(|delta| Update::TextDelta { content_index: 0, delta: delta.to_owned() });
            let bytes: usize = (0..deltas).map(|index| DELTAS[index % 4].len()).sum();
            let start = Instant::now();
            for index in 0..deltas {
                assert!(watch.observe(&updates[index % 4], |_| true).is_empty());
            }
            let nanoseconds = start.elapsed().as_secs_f64() * 1e9;
            println!(
                "{rules:>3} rules, {deltas:>6} deltas: {:>5.2} ns per byte, {:>5.0} ns per delta",
                nanoseconds / bytes as f64,
                nanoseconds / deltas as f64
            );
        }
    }
}

/// Returns a watch for rules that the answer does not break.
fn watch_for(rules: usize) -> Watch {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join(".omp/rules");
    std::fs::create_dir_all(&folder).unwrap();
    for number in 0..rules {
        let conditions = format!(r"['\.unwrap{number}\(\)', '(?i)never\s+call\s+this{number}']");
        let rule = format!("---\ncondition: {conditions}\n---\nNo.\n");
        std::fs::write(folder.join(format!("rule-{number}.md")), rule).unwrap();
    }
    let loaded = load(&Places {
        own: root.path().join("home"),
        working: root.path().to_owned(),
        disabled: Vec::new(),
        agent: "main".to_owned(),
    });
    assert_eq!(loaded.warnings, [""; 0]);
    Watch::new(loaded.rules.unwrap())
}
