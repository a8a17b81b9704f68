//! Lists of sessions, page by page, newest first.
//!
//! Only the files of the requested page are read; modification times tell which those are. A search reads more files,
//! but stops as soon as the page is full.

use std::cmp::Reverse;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use crate::header::Header;
use crate::summary::{matches, shorten, summarize};
use crate::{Error, SessionSummary, Store};

/// How many files a search reads before it checks whether the page is full.
const SEARCH_BATCH: usize = 1024;

/// The minimum number of files per thread.
const FILES_PER_THREAD: usize = 16;

/// Which sessions to list.
#[derive(Debug, Clone)]
pub struct ListQuery {
    pub scope: Scope,
    /// A part of the name, the id or the first message, ignoring case.
    pub search: Option<String>,
    /// The cursor of the previous page.
    pub cursor: Option<String>,
    /// The maximum number of sessions on a page.
    pub limit: usize,
}

impl Default for ListQuery {
    fn default() -> Self {
        Self { scope: Scope::All, search: None, cursor: None, limit: 50 }
    }
}

/// Where to look for sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The sessions with this working directory.
    Directory(PathBuf),
    All,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionPage {
    pub sessions: Vec<SessionSummary>,
    /// The cursor for the next page; none on the last page.
    pub cursor: Option<String>,
}

/// A file that may be a session, with its place in the list.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    modified: Reverse<Duration>,
    path: PathBuf,
}

impl Store {
    /// Returns a page of sessions, most recently written first.
    pub fn list(&self, query: &ListQuery) -> Result<SessionPage, Error> {
        let search = query.search.as_deref().map(str::to_lowercase).filter(|search| !search.is_empty());
        let candidates = self.candidates(query)?;
        let limit = query.limit.max(1);
        // One more than requested, to know whether there is a next page.
        let batch = if search.is_some() { SEARCH_BATCH } else { limit.saturating_add(1) };
        let mut sessions: Vec<(&Candidate, SessionSummary)> = Vec::new();
        for batch in candidates.chunks(batch) {
            let found = self.summaries(batch, &query.scope);
            let wanted = |(_, session): &(_, SessionSummary)| {
                search.as_ref().is_none_or(|search| matches(session, search))
            };
            sessions.extend(found.into_iter().filter(wanted));
            if sessions.len() > limit {
                break;
            }
        }
        let has_more = sessions.len() > limit;
        sessions.truncate(limit);
        let last = sessions.last().filter(|_| has_more);
        let cursor = last.map(|(candidate, _)| self.cursor(candidate));
        let mut sessions: Vec<_> = sessions.into_iter().map(|(_, session)| session).collect();
        sessions.iter_mut().for_each(shorten);
        Ok(SessionPage { sessions, cursor })
    }

    /// Returns the files after the cursor, newest first.
    fn candidates(&self, query: &ListQuery) -> Result<Vec<Candidate>, Error> {
        let files = match &query.scope {
            Scope::Directory(directory) => self.files_for(directory)?,
            Scope::All => self.all_files()?,
        };
        let mut candidates: Vec<_> = files.into_iter().filter_map(candidate).collect();
        if let Some(cursor) = &query.cursor {
            let last = self.read_cursor(cursor)?;
            candidates.retain(|candidate| *candidate > last);
        }
        candidates.sort_unstable();
        Ok(candidates)
    }

    /// Returns the summaries of the candidates that are sessions in scope, in the same order.
    fn summaries<'a>(&self, files: &'a [Candidate], scope: &Scope) -> Vec<(&'a Candidate, SessionSummary)> {
        let accept = |header: &Header| match scope {
            Scope::Directory(directory) => self.belongs(header, directory),
            Scope::All => true,
        };
        let read = |files: &'a [Candidate]| -> Vec<_> {
            let summary = |file: &'a Candidate| {
                let modified = u64::try_from(file.modified.0.as_millis()).unwrap_or(u64::MAX);
                Some((file, summarize(&file.path, modified, accept)?))
            };
            files.iter().filter_map(summary).collect()
        };
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let share = files.len().div_ceil(threads).max(FILES_PER_THREAD);
        thread::scope(|scope| {
            let mut shares = files.chunks(share);
            let own = shares.next().unwrap_or_default();
            let others: Vec<_> = shares.map(|share| scope.spawn(move || read(share))).collect();
            let mut summaries = read(own);
            for other in others {
                summaries.extend(other.join().unwrap_or_default());
            }
            summaries
        })
    }

    /// Returns the cursor for the place after this file.
    fn cursor(&self, file: &Candidate) -> String {
        let path = file.path.strip_prefix(self.root()).unwrap_or(&file.path);
        format!("{}:{}", file.modified.0.as_nanos(), path.display())
    }

    fn read_cursor(&self, cursor: &str) -> Result<Candidate, Error> {
        let place = cursor.split_once(':').and_then(|(time, path)| {
            let nanoseconds: u128 = time.parse().ok()?;
            let seconds = u64::try_from(nanoseconds / 1_000_000_000).ok()?;
            let rest = u32::try_from(nanoseconds % 1_000_000_000).ok()?;
            Some(Candidate {
                modified: Reverse(Duration::new(seconds, rest)),
                path: self.root().join(Path::new(path)),
            })
        });
        place.ok_or_else(|| Error::InvalidCursor { cursor: cursor.to_owned() })
    }
}

fn candidate(path: PathBuf) -> Option<Candidate> {
    let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(Candidate { modified: Reverse(modified), path })
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::Layout;

    struct Sessions {
        store: Store,
        _directory: tempfile::TempDir,
    }

    impl Sessions {
        fn new(layout: Layout) -> Self {
            let directory = tempfile::tempdir().unwrap();
            Self { store: Store::new(directory.path().join("sessions"), layout), _directory: directory }
        }

        /// Writes a session whose last write was `age` seconds ago.
        fn add(&self, working_directory: &str, id: &str, age: u64, lines: &[&str]) -> PathBuf {
            let directory = self.store.directory_for(Path::new(working_directory));
            fs::create_dir_all(&directory).unwrap();
            let path = directory.join(format!("2026_{id}.jsonl"));
            let mut content = format!(
                "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":\"T\",\"cwd\":\"{working_directory}\"}}\n"
            );
            lines.iter().for_each(|line| content += &format!("{line}\n"));
            fs::write(&path, content).unwrap();
            let file = fs::File::options().append(true).open(&path).unwrap();
            // Whole seconds, so that ages can be equal.
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age)).unwrap();
            path
        }

        fn list(&self, query: &ListQuery) -> (String, Option<String>) {
            let page = self.store.list(query).unwrap();
            let ids: Vec<_> = page.sessions.into_iter().map(|session| session.id).collect();
            (ids.join(" "), page.cursor)
        }
    }

    fn here() -> Scope {
        Scope::Directory("/here".into())
    }

    #[test]
    fn a_summary_has_the_name_and_the_first_message() {
        let sessions = Sessions::new(Layout::ByWorkingDirectory);
        let long = "ä".repeat(300);
        let path = sessions.add(
            "/here",
            "one",
            0,
            &[
                r#"{"type":"session_info","id":"1","parentId":null,"name":"old"}"#,
                r#"{"type":"message","id":"2","parentId":"1","message":{"role":"system","content":"prompt"}}"#,
                r#"{"type":"message","id":"3","parentId":"2","message":{"role":"user","content":""}}"#,
                &format!(
                    r#"{{"id":"4","parentId":"3","message":{{"content":[{{"type":"text","text":"{long}"}}],"role":"user"}},"type":"message"}}"#
                ),
                r#"{"type":"message","id":"5","parentId":"4","message":{"role":"toolResult","content":[],"details":{"type":"message","message":{"role":"system"}}}}"#,
                r#"{"type":"custom","id":"6","parentId":"5","data":{"type":"message"}}"#,
                r#"{"type":"session_info","id":"7","parentId":"6","name":" new "}"#,
                r#"{"type":"message","id":"8","parentId":"7","message":{"role":"assist"#,
            ],
        );
        let page = sessions.store.list(&ListQuery::default()).unwrap();
        let expected = SessionSummary {
            id: "one".into(),
            path,
            working_directory: "/here".into(),
            name: Some("new".into()),
            first_message: "ä".repeat(200),
            message_count: 3,
            created: "T".into(),
            modified: 1_000_000_000,
        };
        assert_eq!(page, SessionPage { sessions: vec![expected], cursor: None });
    }

    #[test]
    fn lists_start_with_the_most_recently_written_session() {
        for layout in [Layout::ByWorkingDirectory, Layout::Flat] {
            let sessions = Sessions::new(layout);
            sessions.add("/here", "b", 20, &[]);
            sessions.add("/here", "a", 30, &[]);
            sessions.add("/away", "c", 10, &[]);
            let broken = sessions.add("/here", "broken", 0, &[]);
            fs::write(broken, "no session").unwrap();
            assert_eq!(sessions.list(&ListQuery::default()), ("c b a".into(), None));
            let query = ListQuery { scope: here(), ..ListQuery::default() };
            assert_eq!(sessions.list(&query), ("b a".into(), None));
        }
        let nothing = Sessions::new(Layout::ByWorkingDirectory);
        assert_eq!(nothing.list(&ListQuery::default()), (String::new(), None));
    }

    #[test]
    fn pages_contain_every_session_once_while_others_are_added() {
        let sessions = Sessions::new(Layout::ByWorkingDirectory);
        for number in 0..7 {
            // Pairs of the same age.
            sessions.add("/here", &format!("s{number}"), number / 2 * 10, &[]);
        }
        let mut query = ListQuery { scope: here(), limit: 3, ..ListQuery::default() };
        let mut pages = Vec::new();
        loop {
            let (page, cursor) = sessions.list(&query);
            pages.push(page);
            query.cursor = cursor;
            sessions.add("/here", "newest", 0, &[]);
            if query.cursor.is_none() {
                break;
            }
        }
        assert_eq!(pages, ["s0 s1 s2", "s3 s4 s5", "s6"]);
        query.cursor = Some("nonsense".into());
        assert!(matches!(sessions.store.list(&query), Err(Error::InvalidCursor { .. })));
    }

    #[test]
    fn searches_match_names_ids_and_first_messages_in_any_case() {
        let sessions = Sessions::new(Layout::ByWorkingDirectory);
        let user = |text: &str| {
            format!(
                r#"{{"type":"message","id":"1","parentId":null,"message":{{"role":"user","content":"{text}"}}}}"#
            )
        };
        let name = r#"{"type":"session_info","id":"2","parentId":"1","name":"Die GRÖSSE"}"#;
        sessions.add("/here", "in-name", 1, &[&user("x"), name]);
        sessions.add("/here", "in-message", 2, &[&user(&format!("{} größe Ärger", "x".repeat(400)))]);
        sessions.add("/here", "in-second", 3, &[&user("x"), &user("ärger")]);
        let check = |search: &str, expected: &str| {
            let query = ListQuery { search: Some(search.into()), ..ListQuery::default() };
            assert_eq!(sessions.list(&query), (expected.into(), None), "{search}");
        };
        check("größe", "in-message");
        check("grösse", "in-name");
        check("ÄRGER", "in-message");
        check("IN-", "in-name in-message in-second");
        check("", "in-name in-message in-second");
        check("nothing", "");
    }

    #[test]
    fn searches_continue_after_the_previous_page() {
        let sessions = Sessions::new(Layout::Flat);
        for number in 0..100 {
            sessions.add("/here", &format!("s{number:02}"), number, &[]);
        }
        let mut query = ListQuery { search: Some("5".into()), limit: 4, ..ListQuery::default() };
        let mut found = Vec::new();
        loop {
            let (page, cursor) = sessions.list(&query);
            found.extend(page.split(' ').map(str::to_owned));
            query.cursor = cursor;
            if query.cursor.is_none() {
                break;
            }
        }
        let expected: Vec<_> =
            (0..100).map(|number| format!("s{number:02}")).filter(|id| id.contains('5')).collect();
        assert_eq!(found, expected);
    }
}
