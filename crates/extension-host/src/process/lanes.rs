//! The records of extensions that share a process. One that sends too much waits, and the others do not wait for it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::time::{Instant, sleep_until};

use crate::process::flood::{Flood, too_many};
use crate::process::serving_process::Member;
use crate::protocol::FromExtension;

/// How many records of an extension wait, and how long they may be together, before what nobody asked for is dropped.
const MOST_WAITING: usize = 10_000;
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// Of each extension, what is to be taken of it.
#[derive(Default)]
pub(crate) struct Lanes {
    lanes: HashMap<Arc<str>, Lane>,
}

#[derive(Default)]
struct Lane {
    flood: Flood,
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// How many answers to calls wait. What is before them is taken without delay, because somebody waits for them.
    answers: usize,
    has_dropped: bool,
}

/// A record that waits.
struct Waiting {
    member: Member,
    record: FromExtension,
    size: usize,
}

/// What is done with a record that has arrived.
pub(crate) enum Arrival {
    /// It is taken at once.
    Taken(FromExtension),
    /// It waits, or was dropped; the problem is to be reported, if there is one for the first time.
    Held { problem: Option<String> },
}

impl Lanes {
    /// Decides about a record with a line of this size.
    pub fn arrive(&mut self, member: &Member, record: FromExtension, size: usize) -> Arrival {
        // The texts of an answer are bounded by themselves.
        if matches!(record, FromExtension::ChunkRecord(_)) {
            return Arrival::Taken(record);
        }
        let lane = self.lanes.entry(Arc::clone(member.extension.id())).or_default();
        if lane.waiting.is_empty() && (!record.is_unasked() || lane.flood.admits()) {
            return Arrival::Taken(record);
        }
        let is_full = lane.waiting.len() >= MOST_WAITING || lane.bytes + size > MOST_BYTES;
        if is_full && record.is_unasked() {
            let is_first = !std::mem::replace(&mut lane.has_dropped, true);
            let problem = || "it goes on sending too many records, so further ones are dropped".to_owned();
            return Arrival::Held { problem: is_first.then(problem) };
        }
        lane.bytes += size;
        lane.answers += usize::from(is_answer(&record));
        lane.waiting.push_back(Waiting { member: member.clone(), record, size });
        Arrival::Held { problem: lane.flood.is_news().then(too_many) }
    }

    /// Returns the next record that may be taken; with `all`, also those that would have to wait.
    pub fn next(&mut self, all: bool) -> Option<(Member, FromExtension)> {
        self.lanes.values_mut().find_map(|lane| {
            let is_unasked = lane.waiting.front()?.record.is_unasked();
            if is_unasked && lane.answers == 0 && !lane.flood.admits() && !all {
                return None;
            }
            let Waiting { member, record, size } = lane.waiting.pop_front()?;
            lane.bytes -= size;
            lane.answers -= usize::from(is_answer(&record));
            Some((member, record))
        })
    }

    /// Waits until a record may be taken that had to wait.
    pub async fn become_due(&self) {
        let waiting = self.lanes.values().filter(|lane| !lane.waiting.is_empty());
        match waiting.map(Lane::due).min() {
            Some(Some(due)) => sleep_until(due).await,
            Some(None) => {}
            None => std::future::pending().await,
        }
    }
}

impl Lane {
    /// Returns when the next record may be taken; `None` for now.
    fn due(&self) -> Option<Instant> {
        let is_free = self.waiting.front().is_none_or(|first| !first.record.is_unasked());
        (self.answers == 0 && !is_free).then(|| self.flood.ends()).filter(|due| *due > Instant::now())
    }
}

fn is_answer(record: &FromExtension) -> bool {
    matches!(record, FromExtension::CallResult(_))
}
