//! The documentation: examples match the schema, every flag is explained, and links work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bowline_testkit::{Protocol, bowline};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns README.md and the pages in `docs` and its folders.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// Returns the dialects that a page describes; the default one unless its name says otherwise.
fn dialects_of(page: &Path) -> &[&str] {
    match page.file_stem().unwrap().to_str().unwrap() {
        "protocol-operator" => &["operator", "operator-flat"],
        name => {
            let name = name.strip_prefix("protocol-").unwrap_or(name);
            let entry = bowline_dialect::find(name).unwrap_or(&bowline_dialect::DIALECTS[0]);
            std::slice::from_ref(&entry.name)
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A fenced block of a page.
struct Block {
    language: String,
    /// The line of the opening fence, from 1.
    line: usize,
    content: Vec<String>,
}

#[track_caller]
fn blocks(text: &str, page: &Path) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in text.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => blocks.push(block),
            (Some(language), None) => {
                open = Some(Block {
                    language: language.trim().to_owned(),
                    line: index + 1,
                    content: Vec::new(),
                });
            }
            (None, Some(mut block)) => {
                block.content.push(line.to_owned());
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{}: a block is not closed", page.display());
    blocks
}

/// Returns whether a block is one value over several lines, rather than one object per line.
fn is_json(lines: &[String]) -> Result<(), String> {
    if serde_json::from_str::<Value>(&lines.join("\n")).is_ok() {
        return Ok(());
    }
    for line in lines.iter().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str::<Value>(line) {
            Ok(Value::Object(_)) => {}
            Ok(_) => return Err(format!("no object: {line}")),
            Err(error) => return Err(format!("{error}: {line}")),
        }
    }
    Ok(())
}

#[test]
fn every_protocol_example_is_json() {
    let mut count = 0;
    for page in pages() {
        for block in blocks(&read(&page), &page) {
            if block.language != "json" {
                continue;
            }
            count += 1;
            if let Err(problem) = is_json(&block.content) {
                panic!("{}, the block at line {}: {problem}", page.display(), block.line);
            }
        }
    }
    assert!(count > 0, "no examples were found");
}

/// Returns what is wrong with a protocol line in an example. A line without a type is something else, such as a
/// settings
/// file; so is, on pages about other things, a type that is neither a command's nor a record's.
fn check_line(line: &Value, protocol: &Protocol, is_about_it: bool) -> Result<bool, String> {
    let Some(name) = line["type"].as_str() else { return Ok(false) };
    let is_record =
        name == "response" || name == "event" || protocol.events().iter().any(|known| known == name);
    let checked = if is_record && (line.get("success").is_some() || name != "response") {
        protocol.check_record(line)
    } else if is_about_it || protocol.commands().iter().any(|known| known == name) {
        protocol.check_command(line)
    } else {
        return Ok(false);
    };
    checked.map(|()| true)
}

#[test]
fn every_example_satisfies_the_schema() {
    let mut count = 0;
    for page in pages() {
        let protocols: Vec<_> = dialects_of(&page).iter().map(|dialect| Protocol::of(dialect)).collect();
        let is_about_it = page.to_string_lossy().contains("protocol");
        for block in blocks(&read(&page), &page).iter().filter(|block| block.language == "json") {
            for line in block.content.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
                let check = |protocol| check_line(&line, protocol, is_about_it);
                let results: Vec<_> = protocols.iter().map(check).collect();
                match results.iter().find(|result| result.is_ok()).unwrap_or(&results[0]) {
                    Ok(is_checked) => count += usize::from(*is_checked),
                    Err(problem) => {
                        panic!("{}, the block at line {}: {problem}\n{line}", page.display(), block.line)
                    }
                }
            }
        }
    }
    assert!(count > 400, "only {count} lines were checked");
}

#[test]
fn readme_shows_how_to_try_and_test_it() {
    let page = root().join("README.md");
    let text = read(&page);
    let blocks = blocks(&text, &page);
    for command in ["cargo run --release -- demo", "./test"] {
        let is_alone = |block: &Block| block.content == [command];
        assert!(blocks.iter().any(is_alone), "README.md has no block that is just `{command}`");
    }
}

#[test]
fn every_linked_page_exists() {
    for page in pages() {
        let text = read(&page);
        let mut rest = text.as_str();
        while let Some((_, after)) = rest.split_once("](") {
            let (target, after) = after.split_once(')').unwrap_or((after, ""));
            rest = after;
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") || file.contains(char::is_whitespace) {
                continue;
            }
            let linked = page.parent().unwrap().join(file);
            assert!(linked.exists(), "{} links to {target}, which does not exist", page.display());
        }
    }
}

#[test]
fn every_flag_in_the_help_is_documented() {
    let page = root().join("docs/configuration.md");
    if !page.exists() {
        return;
    }
    let text = read(&page);
    let output = Command::new(bowline()).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let flags = |text: &str| -> Vec<String> {
        let words = text.split(|letter| !is_part(letter));
        words.filter(|word| word.starts_with("--") && word.len() > 2).map(ToOwned::to_owned).collect()
    };
    let explained = flags(&text);
    let missing: Vec<_> = flags(&help).into_iter().filter(|flag| !explained.contains(flag)).collect();
    assert!(missing.is_empty(), "docs/configuration.md says nothing of {missing:?}");
}

/// Returns the first cell of each row of the tables below a heading, as the texts in backticks.
fn first_cells(text: &str, heading: &str) -> Vec<String> {
    let (_, after) = text.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
    let level = heading.chars().take_while(|letter| *letter == '#').count();
    let is_end = |line: &&str| {
        let hashes = line.chars().take_while(|letter| *letter == '#').count();
        hashes > 0 && hashes <= level
    };
    let rows = after.lines().take_while(|line| !is_end(line)).filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| row.split(" |").next()).flat_map(quoted).collect()
}

/// Returns the texts in backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect()
}

#[track_caller]
fn check_same(mut documented: Vec<String>, mut known: Vec<String>, what: &str) {
    for list in [&mut documented, &mut known] {
        list.sort();
        list.dedup();
    }
    assert_eq!(documented, known, "{what}: the documentation on the left, the program on the right");
}

#[test]
fn index_names_every_page() {
    let index = read(&root().join("docs/README.md"));
    for page in pages() {
        let is_index = |path: &&Path| ["README.md", "SUMMARY.md"].iter().any(|name| *path == Path::new(name));
        let path = page.strip_prefix(root().join("docs")).ok().filter(|path| !is_index(path));
        if let Some(path) = path {
            let link = format!("({})", path.display());
            assert!(index.contains(&link), "docs/README.md does not link to {link}");
        }
    }
}

#[test]
fn guide_lists_exactly_the_events_that_exist() {
    let guide = read(&root().join("docs/protocol.md"));
    let mut known = Protocol::of("pi").events();
    known.retain(|name| name != "error");
    check_same(
        first_cells(&guide, "## Events").into_iter().filter(|name| !is_part(name)).collect(),
        known,
        "events",
    );
}

/// Returns whether a name is of a part of an answer or a role, which have tables of their own.
fn is_part(name: &str) -> bool {
    let of_answer = ["text_", "thinking_", "toolcall_"].iter().any(|start| name.starts_with(start));
    (of_answer && name != "thinking_level_changed")
        || [
            "type",
            "role",
            "user",
            "assistant",
            "toolResult",
            "bashExecution",
            "compactionSummary",
            "branchSummary",
            "custom",
        ]
        .contains(&name)
}

#[test]
fn readme_lists_exactly_the_dialects_that_exist() {
    let readme = read(&root().join("README.md"));
    let known: Vec<String> = bowline_dialect::DIALECTS.iter().map(|entry| entry.name.to_owned()).collect();
    let references = known.iter().map(|name| format!("docs/protocol/{name}.md"));
    for reference in references {
        assert!(readme.contains(&reference), "README.md does not link to {reference}");
    }
}

/// The sources in which texts for users are written.
fn sources() -> String {
    let mut folders = vec![root().join("crates"), root().join("extensions/pi-host")];
    let mut all = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && name != "tests" && name != "testkit" {
                folders.push(path);
            } else if name.ends_with(".rs") || name.ends_with(".mjs") {
                all.push_str(&read(&path));
            }
        }
    }
    all
}

#[test]
fn every_error_text_in_troubleshooting_exists() {
    let page = read(&root().join("docs/troubleshooting.md"));
    let sources = sources().replace("\\\"", "\"");
    let mut count = 0;
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cell = row.trim_start_matches("| ").split(" | ").next().unwrap();
        for text in quoted(cell) {
            count += 1;
            let pieces = text.split('…').map(|piece| piece.trim_matches([' ', '"', ':', '\'', ';', '(']));
            for piece in pieces.filter(|piece| piece.len() > 3) {
                assert!(
                    sources.contains(piece),
                    "no error says `{piece}`, but docs/troubleshooting.md has `{text}`"
                );
            }
        }
    }
    assert!(count > 25, "only {count} texts were checked");
}

#[test]
fn guide_lists_exactly_the_commands_that_exist() {
    let guide = read(&root().join("docs/protocol.md"));
    let (_, section) = guide.split_once("\n## Commands\n").unwrap();
    let rows =
        section.lines().skip_while(|line| !line.starts_with("| [")).take_while(|line| line.starts_with('|'));
    let documented = rows.flat_map(|row| quoted(row.splitn(3, '|').nth(2).unwrap())).collect();
    let mut known = Protocol::of("pi").commands();
    known.retain(|name| name != "extension_ui_response");
    check_same(documented, known, "commands");
}

#[test]
fn every_error_code_of_the_schema_is_documented() {
    let page = read(&root().join("docs/protocol.md"));
    let protocol = Protocol::of("pi");
    let codes = protocol.definition("FailureResponse")["properties"]["code"]["enum"].as_array().unwrap();
    assert!(codes.len() > 10, "{codes:?}");
    for code in codes {
        let name = code.as_str().unwrap();
        let is_documented = |line: &str| line.starts_with('|') && line.contains(&format!("`{name}`"));
        assert!(page.lines().any(is_documented), "docs/protocol.md does not explain the code {name}");
    }
}

#[test]
fn guide_lists_exactly_the_error_codes_that_exist() {
    let guide = read(&root().join("docs/protocol.md"));
    let mut documented = first_cells(&guide, "### Error codes");
    documented.retain(|name| name != "code");
    let codes = bowline_core::reply::RefusalCode::ALL.iter().map(|code| code.as_str().to_owned());
    let of_lines = ["parse_error", "unknown_command", "unsupported"].map(ToOwned::to_owned);
    check_same(documented, codes.chain(of_lines).collect(), "error codes");
}
