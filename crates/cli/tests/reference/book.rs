//! The table of contents that mdBook needs, from the index of the documentation.

use std::fs;
use std::path::Path;

use crate::check;

/// Returns the pages that a line of the index links to.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#']).next())
        .filter(|link| link.ends_with(".md"))
}

#[test]
fn table_of_contents_matches_the_index() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let title = |page: &str| {
        let text = fs::read_to_string(docs.join(page)).unwrap_or_else(|error| panic!("docs/{page}: {error}"));
        let heading = text.lines().find_map(|line| line.strip_prefix("# ")).map(ToOwned::to_owned);
        heading.unwrap_or_else(|| panic!("docs/{page} has no title"))
    };
    let index = fs::read_to_string(docs.join("README.md")).unwrap();
    let mut contents = format!("# Summary\n\n[{}](README.md)\n", title("README.md"));
    let mut listed = vec!["README.md"];
    for line in index.lines() {
        if let Some(section) = line.strip_prefix("**").and_then(|line| line.strip_suffix("**")) {
            contents.push_str(&format!("\n# {section}\n\n"));
        }
        for page in links(line) {
            if !listed.contains(&page) {
                listed.push(page);
                contents.push_str(&format!("- [{}]({page})\n", title(page)));
            }
        }
    }
    check("docs/SUMMARY.md", &contents);
}
