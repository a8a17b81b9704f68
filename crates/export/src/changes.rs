//! What runs changed in files, folded, after the conversation.

use std::fmt::Write as _;

use bowline_core::file_changes::{FileChange, RunChanges};

use crate::diff::Diff;
use crate::escape;
use crate::format;

/// Appends a fold for each run that changed files; nothing without any.
pub(crate) fn push(page: &mut String, runs: &[RunChanges]) {
    if runs.is_empty() {
        return;
    }
    page.push_str("<section id=\"changes\">\n<h2>Changed files</h2>\n");
    for run in runs {
        push_run(page, run);
    }
    page.push_str("</section>\n");
}

fn push_run(page: &mut String, run: &RunChanges) {
    let files = format::counted(run.files.len() as u64 + run.omitted_files, "file");
    let undone = if run.undone { ", undone" } else { "" };
    let _ = writeln!(
        page,
        "<details><summary>Run {}: {files}, +{} −{}{undone}</summary>\n<ul>",
        run.run, run.added, run.removed
    );
    for file in &run.files {
        push_file(page, file);
    }
    if run.omitted_files > 0 {
        let _ = writeln!(page, "<li>and {} more</li>", run.omitted_files);
    }
    page.push_str("</ul>\n");
    for (name, patch) in run.diff.as_deref().into_iter().flat_map(patches) {
        let _ = writeln!(page, "<div class=\"tool\"><p><code>{}</code></p>", escape::text(name));
        Diff::of_patch(patch).push(page);
        page.push_str("</div>\n");
    }
    if run.diff_truncated {
        page.push_str("<p class=\"cut\">Some differences are too long to be shown.</p>\n");
    }
    page.push_str("</details>\n");
}

fn push_file(page: &mut String, file: &FileChange) {
    let reason =
        file.reason.as_deref().map(|reason| format!(" (cannot be restored: {reason})")).unwrap_or_default();
    let undone = if file.undone { ", undone" } else { "" };
    let _ = writeln!(
        page,
        "<li>{}{undone} <code>{}</code>{}</li>",
        file.change.as_str(),
        escape::text(&file.path),
        escape::text(&reason)
    );
}

/// Splits a diff into the patches of its files, with their names.
fn patches(diff: &str) -> Vec<(&str, &str)> {
    let is_start = |place: usize| {
        diff[place..].starts_with("--- ")
            && diff[place..].lines().nth(1).is_some_and(|next| next.starts_with("+++ "))
    };
    let line_starts = std::iter::once(0).chain(diff.match_indices('\n').map(|(place, _)| place + 1));
    let starts: Vec<usize> = line_starts.filter(|place| is_start(*place)).collect();
    let ends = starts.iter().skip(1).copied().chain([diff.len()]);
    starts.iter().zip(ends).map(|(start, end)| (name_of(&diff[*start..end]), &diff[*start..end])).collect()
}

fn name_of(patch: &str) -> &str {
    let mut lines = patch.lines();
    let mut name = |marker: &str, side: &str| {
        let path = lines.next()?.strip_prefix(marker)?;
        // A path outside of the workspace is absolute.
        path.strip_prefix(side).or(Some(path).filter(|path| path.starts_with('/') && *path != "/dev/null"))
    };
    let old = name("--- ", "a/");
    let new = name("+++ ", "b/");
    new.or(old).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use bowline_core::file_changes::{FileChangeKind, FileKind};

    use super::*;

    fn change(path: &str) -> FileChange {
        FileChange {
            path: path.to_owned(),
            change: FileChangeKind::Modified,
            kind: FileKind::File,
            size_before: None,
            size: None,
            covered: true,
            reason: None,
            undone: false,
        }
    }

    #[test]
    fn runs_are_folds_with_the_patch_of_each_file() {
        let mut page = String::new();
        push(&mut page, &[]);
        assert_eq!(page, "");
        let diff = "--- a/one\n+++ b/one\n@@ -1 +1 @@\n-a\n+<b>\n--- /dev/null\n+++ b/two\n@@ -0,0 +1 @@\n+c\n\
             --- /var/three\n+++ /dev/null\n@@ -1 +0,0 @@\n-d\n";
        let run = RunChanges {
            run: 3,
            files: vec![change("<one>"), change("two")],
            added: 2,
            removed: 1,
            diff: Some(diff.to_owned()),
            ..RunChanges::default()
        };
        push(&mut page, &[run]);
        assert!(page.contains("<summary>Run 3: 2 files, +2 −1</summary>"), "{page}");
        assert!(page.contains("<li>modified <code>&lt;one&gt;</code></li>"), "{page}");
        assert!(page.contains("<code>one</code>") && page.contains("<code>two</code>"), "{page}");
        assert!(page.contains("<code>/var/three</code>"), "{page}");
        assert!(page.contains("&lt;b&gt;") && !page.contains("<b>"), "{page}");
    }
}
