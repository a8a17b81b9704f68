//! Lists of sessions, page by page, newest first.
//!
//! Only the files of the requested page are read: which those are, the times of the files tell. A search has to
//! look into more of them, but stops as soon as the page is full.

use std::cmp::Reverse;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use crate::header::Header;
use crate::{Error, SessionSummary, Store};

/// How many files a search looks into before it sees whether those were enough.
const SEARCH_BATCH: usize = 1024;

/// How many files are worth a thread of their own.
const FILES_PER_THREAD: usize = 16;

/// Which sessions to list.
#[derive(Debug, Clone)]
pub struct ListQuery {
    pub scope: Scope,
    /// A part of the name, the id or the first message, in whatever case.
    pub search: Option<String>,
    /// Where the previous page ended.
    pub cursor: Option<String>,
    /// How many sessions a page has.
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
    /// The sessions that work in this directory.
    Directory(PathBuf),
    All,
}

/// Some sessions of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionPage {
    pub sessions: Vec<SessionSummary>,
    /// Where the next page starts; without one this was the last.
    pub cursor: Option<String>,
}

/// A file that may be a session, and its place in the list.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    modified: Reverse<Duration>,
    path: PathBuf,
}

impl Store {
    /// Returns a page of the sessions that were written to last.
    pub fn list(&self, query: &ListQuery) -> Result<SessionPage, Error> {
        let search = query.search.as_deref().map(str::to_lowercase).filter(|search| !search.is_empty());
        let candidates = self.candidates(query)?;
        let limit = query.limit.max(1);
        // One more than asked for, to know whether there is a next page.
        let batch = if search.is_some() { SEARCH_BATCH } else { limit.saturating_add(1) };
        let mut sessions: Vec<(&Candidate, SessionSummary)> = Vec::new();
        for batch in candidates.chunks(batch) {
            let found = self.summaries(batch, &query.scope);
            let wanted = |(_, session): &(_, SessionSummary)| {
                search.as_ref().is_none_or(|search| session.matches(search))
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
        sessions.iter_mut().for_each(SessionSummary::shorten);
        Ok(SessionPage { sessions, cursor })
    }

    /// Returns the files that come after the cursor, newest first.
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

    /// Returns the summaries of those candidates that are sessions of the scope, in the same order.
    fn summaries<'a>(&self, files: &'a [Candidate], scope: &Scope) -> Vec<(&'a Candidate, SessionSummary)> {
        let accept = |header: &Header| match scope {
            Scope::Directory(directory) => self.belongs(header, directory),
            Scope::All => true,
        };
        let read = |files: &'a [Candidate]| -> Vec<_> {
            let summary = |file: &'a Candidate| {
                let modified = u64::try_from(file.modified.0.as_millis()).unwrap_or(u64::MAX);
                Some((file, SessionSummary::read(&file.path, modified, accept)?))
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

    /// Returns the text that means the place after this file.
    fn cursor(&self, file: &Candidate) -> String {
        let path = file.path.strip_prefix(self.root()).unwrap_or(&file.path);
        format!("{}:{}", file.modified.0.as_nanos(), path.display())
    }

    fn read_cursor(&self, cursor: &str) -> Result<Candidate, Error> {
        let place = cursor.split_once(':').and_then(|(time, path)| {
            let nanoseconds = time.parse().ok()?;
            Some(Candidate {
                modified: Reverse(Duration::from_nanos(nanoseconds)),
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
