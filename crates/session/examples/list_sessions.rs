//! Measures listing 5,000 sessions of about 20 lines; one in a hundred has 1 MB.
//!
//! `cargo run --release -p bowline-session --example list_sessions -- DIRECTORY`
//!
//! The directory is created and filled if it does not exist.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bowline_session::{Layout, ListQuery, Scope, Store};

const SESSIONS: usize = 5_000;
const DIRECTORIES: usize = 50;

#[expect(clippy::disallowed_methods, reason = "an example reads its arguments")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = PathBuf::from(std::env::args().nth(1).ok_or("usage: list_sessions DIRECTORY")?);
    let store = Store::new(root.clone(), Layout::ByWorkingDirectory);
    if !root.exists() {
        for number in 0..SESSIONS {
            write_session(&store, number)?;
        }
    }
    let mut out = std::io::stdout().lock();
    let directory = Scope::Directory(working_directory(7));
    let search = |text: &str| Some(text.to_owned());
    for (name, query) in [
        ("first page", ListQuery::default()),
        ("first page of one directory", ListQuery { scope: directory, ..ListQuery::default() }),
        ("everything", ListQuery { limit: SESSIONS, ..ListQuery::default() }),
        ("search with many matches", ListQuery { search: search("QUESTION 1"), ..ListQuery::default() }),
        ("search with one match", ListQuery { search: search("question 4321 "), ..ListQuery::default() }),
        ("search without matches", ListQuery { search: search("no such text"), ..ListQuery::default() }),
    ] {
        let start = Instant::now();
        let page = store.list(&query)?;
        writeln!(out, "{name:30} {:9.1?}  {} sessions", start.elapsed(), page.sessions.len())?;
    }
    Ok(())
}

fn working_directory(number: usize) -> PathBuf {
    Path::new("/projects").join(format!("project-{}", number % DIRECTORIES))
}

fn write_session(store: &Store, number: usize) -> std::io::Result<()> {
    let working_directory = working_directory(number);
    let directory = store.directory_for(&working_directory);
    fs::create_dir_all(&directory)?;
    let length = if number.is_multiple_of(100) { 50_000 } else { 250 };
    let mut content = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"session-{number}\",\"timestamp\":\"2026-11-16T00:00:00.000Z\",\"cwd\":\"{}\"}}\n",
        working_directory.display()
    );
    for line in 0..20 {
        let role = if line % 2 == 0 { "user" } else { "assistant" };
        let text = format!("question {number} {}", "text ".repeat(length / 5));
        content += &format!(
            "{{\"type\":\"message\",\"id\":\"{line:08x}\",\"parentId\":null,\"timestamp\":\"2026-11-16T00:00:00.000Z\",\"message\":{{\"role\":\"{role}\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}],\"timestamp\":1}}}}\n"
        );
    }
    fs::write(directory.join(format!("2026-11-16T00-00-00-000Z_session-{number}.jsonl")), content)
}
