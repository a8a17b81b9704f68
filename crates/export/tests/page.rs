//! Complete pages from complete sessions.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use bowline_core::tool::{ToolDisplay, ToolTraits};
use bowline_export::{Error, Options, default_name, export_file, export_session};
use bowline_session::Session;

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-11-16T00:55:48.502Z","cwd":"/w"}"#;

static BASH: ToolTraits = ToolTraits {
    name: "bash",
    mutates: true,
    path_argument: None,
    display: ToolDisplay::Command { argument: "command" },
};

fn user(id: &str, parent: &str, text: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-11-16T00:55:49.000Z","message":{{"role":"user","content":"{text}","timestamp":1}}}}"#
    )
}

fn session(lines: &[String]) -> Session {
    Session::from_content(lines.join("\n").into_bytes()).unwrap()
}

fn page_of(lines: &[String], options: &Options) -> String {
    let mut page = Vec::new();
    export_session(&session(lines), &mut page, options).unwrap();
    String::from_utf8(page).unwrap()
}

fn branched() -> Vec<String> {
    vec![HEADER.into(), user("a", "", "root"), user("b", "a", "old branch"), user("c", "a", "new branch")]
}

/// Returns the part of the page that is displayed at first.
fn conversation(page: &str) -> &str {
    let start = page.find("<main").unwrap();
    &page[start..start + page[start..].find("</main>").unwrap()]
}

#[test]
fn the_last_branch_is_displayed_and_others_are_templates() {
    let page = page_of(&branched(), &Options::default());
    assert!(conversation(&page).contains("root") && conversation(&page).contains("new branch"));
    assert!(!conversation(&page).contains("old branch"));
    let template = &page[page.find("<template").unwrap()..];
    assert!(template.contains("id=\"entry-b\"") && template.contains("old branch"));
}

#[test]
fn another_leaf_can_be_requested() {
    let page = page_of(
        &branched(),
        &Options { leaf: Some("b".into()), title: Some("T <i>".into()), ..Options::default() },
    );
    assert!(conversation(&page).contains("old branch") && !conversation(&page).contains("new branch"));
    assert!(page.contains("<title>T &lt;i&gt;</title>"));
    let unknown = Options { leaf: Some("x".into()), ..Options::default() };
    let result = export_session(&session(&branched()), &mut Vec::new(), &unknown);
    assert_eq!(result.unwrap_err().to_string(), "the session has no entry \"x\"");
}

#[test]
fn every_entry_is_in_the_page_once() {
    let page = page_of(&branched(), &Options::default());
    for id in ["a", "b", "c"] {
        assert_eq!(page.matches(&format!(" id=\"entry-{id}\"")).count(), 1, "{id}");
    }
}

#[test]
fn a_call_and_its_result_are_rendered_together() {
    let call = r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","model":"m","content":[{"type":"toolCall","id":"t","name":"bash","arguments":{"command":"ls <x>"}}],"usage":{"input":1200,"output":7,"cost":{"total":0.25}}}}"#;
    let result = r#"{"type":"message","id":"c","parentId":"b","message":{"role":"toolResult","toolCallId":"t","toolName":"bash","content":[{"type":"text","text":"one\ntwo"}],"isError":false}}"#;
    let options = Options { tools: |name| (name == BASH.name).then_some(&BASH), ..Options::default() };
    let page = page_of(&[HEADER.into(), user("a", "", "hi"), call.into(), result.into()], &options);
    let block = &page[page.find("<section class=\"tool\" id=\"entry-c\"").unwrap()..];
    let block = &block[..block.find("</section>").unwrap()];
    assert!(block.contains("ls</span> &lt;x&gt;") && block.contains("one\ntwo"), "{block}");
    assert!(page.contains("1.2k in · 7 out · $0.250") && page.contains("3 messages · 1.2k tokens · $0.250"));
}

static TOOLS: [ToolTraits; 5] = [
    file_tool("read", ToolDisplay::Read),
    file_tool("write", ToolDisplay::Write),
    file_tool("edit", ToolDisplay::Edit),
    file_tool("look", ToolDisplay::Search),
    file_tool("other", ToolDisplay::Generic),
];

const fn file_tool(name: &'static str, display: ToolDisplay) -> ToolTraits {
    ToolTraits { name, mutates: false, path_argument: Some("path"), display }
}

#[test]
fn the_traits_of_a_tool_decide_how_its_calls_look() {
    let options =
        Options { tools: |name| TOOLS.iter().find(|traits| traits.name == name), ..Options::default() };
    let block = |name: &str, arguments: &str| {
        let call = format!(
            r#"{{"type":"message","id":"b","parentId":null,"message":{{"role":"assistant","content":[{{"type":"toolCall","id":"t","name":"{name}","arguments":{arguments}}}]}}}}"#
        );
        let page = page_of(&[HEADER.into(), call], &options);
        let start = page.find("<section class=\"tool\"").unwrap();
        page[start..start + page[start..].find("</section>").unwrap()].to_owned()
    };
    let subject = |text: &str| format!("<code class=\"subject\">{text}</code>");
    let json = "&quot;path&quot;</span>:";

    let read = block("read", r#"{"path":"a.rs","offset":3}"#);
    assert!(read.contains(&subject("a.rs")) && read.contains("offset 3") && !read.contains(json), "{read}");
    let write = block("write", r#"{"path":"a.rs","content":"let x;"}"#);
    assert!(write.contains(&subject("a.rs")) && write.contains(">let</span> x;"), "{write}");
    let edit = block("edit", r#"{"path":"a.rs","oldText":"x","newText":"y"}"#);
    assert!(edit.contains(&subject("a.rs")) && edit.contains("<b class=\"new\">+1</b>"), "{edit}");
    let search = block("look", r#"{"pattern":"p","path":"src"}"#);
    assert!(search.contains(&subject("p")) && search.contains("path src"), "{search}");
    let list = block("look", r#"{"path":"src"}"#);
    assert!(list.contains(&subject("src")) && !list.contains(json), "{list}");
    for (name, arguments) in
        [("other", r#"{"path":"a"}"#), ("unknown", r#"{"path":"a"}"#), ("read", r#"{"path":1}"#)]
    {
        let block = block(name, arguments);
        assert!(block.contains(json) && !block.contains("subject"), "{block}");
    }
}

#[test]
fn empty_sessions_and_malformed_lines_are_exported() {
    let page = page_of(&[HEADER.into(), "bad".into(), "worse".into(), String::new()], &Options::default());
    assert!(page.contains("<title>Session s1</title>") && page.contains("2 lines of the session file"));
}

/// Returns one entry of every kind, with `nasty` in every string.
fn entries_full_of(nasty: &str) -> Vec<String> {
    let kinds = [
        ("session_info", r#""name":"@""#),
        ("label", r#""targetId":"@","label":"@""#),
        ("compaction", r#""summary":"@","firstKeptEntryId":"@""#),
        ("branch_summary", r#""summary":"@","fromId":"@""#),
        ("model_change", r#""provider":"@","modelId":"@""#),
        ("thinking_level_change", r#""thinkingLevel":"@""#),
        ("custom", r#""customType":"@","data":{"@":"@"}"#),
        ("custom_message", r#""customType":"@","content":"@","display":false"#),
        ("context_edit", r#""targetId":"@","replacement":{"content":"@"}"#),
        ("usage", r#""kind":"@","provider":"@","model":"@","usage":{"input":1}"#),
        ("@", r#""@":"@""#),
        (
            "message",
            r#""message":{"role":"system","content":"@","sections":{"@":"@"},"toolsAdded":[{"name":"@"}]}"#,
        ),
        (
            "message",
            r#""message":{"role":"bashExecution","command":"@","output":"@","truncated":true,"fullOutputPath":"@"}"#,
        ),
        (
            "message",
            r#""message":{"role":"assistant","model":"@","provider":"@","stopReason":"@","errorMessage":"@","content":[{"type":"thinking","thinking":"@"},{"type":"toolCall","id":"@","name":"@","arguments":{"@":"@"}},{"type":"image","mimeType":"@","data":"@"},{"type":"@"}]}"#,
        ),
        (
            "message",
            r#""message":{"role":"toolResult","toolCallId":"@","toolName":"@","content":[{"type":"text","text":"@"}],"details":{"diff":"@","patch":"@"}}"#,
        ),
    ];
    let entry = |(number, (kind, fields)): (usize, (&str, &str))| {
        format!(r#"{{"type":"{kind}","id":"e{number}","parentId":"@",{fields}}}"#).replace('@', nasty)
    };
    kinds.into_iter().enumerate().map(entry).collect()
}

#[test]
fn nothing_in_a_session_becomes_markup() {
    let nasty = "</main></template></script><script>alert(1)</script><img src=x onerror=alert(1)>";
    let mut lines = vec![HEADER.replace("s1", nasty).replace("/w", nasty), user(nasty, "", nasty)];
    lines.extend(entries_full_of(nasty));
    let page = page_of(&lines, &Options::default());
    assert_eq!(page.matches("could not be read").count(), 0);
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</script").count(), 1);
    assert_eq!(page.matches("</main").count(), 1);
    assert_eq!(page.matches("<template").count(), page.matches("</template").count());
    assert!(!page.contains("<img"));
}

#[test]
fn export_replaces_the_page_and_returns_its_absolute_path() {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("2026_s1.jsonl");
    fs::write(&session, branched().join("\n")).unwrap();
    assert_eq!(default_name(&session), "bowline-session-2026_s1.html");
    let out = folder.path().join("page.html");
    export_file(&session, &out, &Options { title: Some("older".to_owned()), ..Options::default() }).unwrap();
    let path = export_file(&session, &out, &Options::default()).unwrap();
    assert!(path.is_absolute() && fs::read_to_string(&path).unwrap().ends_with("</html>\n"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn errors_tell_what_is_wrong_and_leave_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("s.jsonl");
    fs::write(&session, branched().join("\n")).unwrap();
    let export = |session: &Path, out: &Path| export_file(session, out, &Options::default()).unwrap_err();
    assert!(matches!(export(&session, &folder.path().join("no/page.html")), Error::NoFolder { .. }));
    assert!(!folder.path().join("no").exists());
    assert!(matches!(export(&session, folder.path()), Error::IsFolder { .. }));
    assert!(matches!(export(&session, &session), Error::IsTheSession { .. }));
    assert!(matches!(
        export(&folder.path().join("none"), &folder.path().join("p")),
        Error::Session(bowline_session::Error::NotFound { .. })
    ));
    let text = folder.path().join("notes.txt");
    fs::write(&text, "hello").unwrap();
    assert!(matches!(
        export(&text, &folder.path().join("p")),
        Error::Session(bowline_session::Error::NotASession { .. })
    ));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn title_is_read_once_and_no_time_is_zero() {
    let time = "2026-11-16T00:55:49.000Z";
    let timed =
        |line: String| line.replacen("\"parentId\"", &format!("\"timestamp\":\"{time}\",\"parentId\""), 1);
    let call = r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":[{"type":"toolCall","id":"t","name":"x","arguments":{}}]}}"#;
    let result = r#"{"type":"message","id":"c","parentId":"b","message":{"role":"toolResult","toolCallId":"t","toolName":"x","content":[]}}"#;
    let mut lines =
        vec![HEADER.into(), user("a", "", "hello there"), timed(call.into()), timed(result.into())];
    let page = page_of(&lines, &Options::default());
    assert!(page.contains("<h1 class=\"repeated\">hello there</h1>"), "{page}");
    assert!(!page.contains("0 s<") && !page.contains("0 s "), "{page}");

    lines.push(r#"{"type":"session_info","id":"d","parentId":"c","name":"A name"}"#.into());
    let page = page_of(&lines, &Options::default());
    assert!(page.contains("<h1>A name</h1>"), "{page}");
    assert_eq!(conversation(&page).matches("A name").count(), 0, "the title says it already");
}
