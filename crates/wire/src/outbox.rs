//! The only writer of the protocol: records are written completely, in the order they were pushed, and none is dropped.
//!
//! A reader that stops reading must not cost unbounded memory, and most of a lagging reader's backlog is deltas of one
//! block. Those join: each delta is a JSON record around the inside of one string, so two of them become one by joining
//! the insides. Deltas join only while the reader lags; a reader that keeps up sees each delta as it was sent.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use crate::KEPT_CAPACITY;
use crate::pieces::Pieces;
use crate::stdio::Output;

/// The default number of bytes that may be queued before the engine is asked to slow down.
pub const DEFAULT_OUTBOX_BOUND: usize = 8 * 1024 * 1024;

/// How many bytes of queued records are gathered for one write: four times a pipe's usual capacity.
const GATHERED: usize = 256 * 1024;

/// How many records are looked at for one that a delta can join: about as many as sessions that answer at the same time.
const LOOKED_BACK: usize = 64;

/// How many bits of a key tell apart the blocks of one session.
const SESSION_SHIFT: u32 = 40;

/// The multiple of the bound above which no further command is read.
const FAR_OVER: usize = 4;

/// A queued record, without its line ending. It is moved often, so large parts are boxed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A record that is written unchanged.
    Plain(Vec<u8>),
    /// A record that is written unchanged and shares bytes with others.
    Pieces(Box<Pieces>),
    /// A record that may join with the next one of the same block.
    Delta(Box<Delta>),
}

/// A record around the inside of one string. It is written as `prefix`, `body`, `suffix`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    /// The block this belongs to: only records with equal keys join.
    pub key: u64,
    /// The bytes before the body. A joined record has the newest prefix.
    pub prefix: Pieces,
    /// The inside of a JSON string, so that the bodies of one block concatenate.
    pub body: Vec<u8>,
    /// The bytes after the body. A joined record has the newest suffix.
    pub suffix: Pieces,
}

impl From<Pieces> for Record {
    fn from(pieces: Pieces) -> Self {
        Self::Pieces(Box::new(pieces))
    }
}

impl From<Delta> for Record {
    fn from(delta: Delta) -> Self {
        Self::Delta(Box::new(delta))
    }
}

impl Delta {
    /// Returns the key of a block of a session: no two sessions of a connection have a key in common.
    pub fn key_in(session: u32, block: u64) -> u64 {
        (u64::from(session) << SESSION_SHIFT) | (block & ((1 << SESSION_SHIFT) - 1))
    }

    /// Returns the session that it belongs to, on a connection of several.
    fn session(&self) -> u64 {
        self.key >> SESSION_SHIFT
    }

    fn len(&self) -> usize {
        self.prefix.len() + self.body.len() + self.suffix.len()
    }
}

impl Record {
    /// Returns the size on the wire, including the line ending.
    fn len(&self) -> usize {
        1 + match self {
            Self::Plain(bytes) => bytes.len(),
            Self::Pieces(pieces) => pieces.len(),
            Self::Delta(delta) => delta.len(),
        }
    }

    /// Appends the bytes of the record, including the line ending.
    fn append_to(self, leaving: &mut Pieces) {
        match self {
            Self::Plain(bytes) => leaving.append_own(bytes),
            Self::Pieces(pieces) => leaving.append(*pieces),
            Self::Delta(delta) => {
                leaving.append(delta.prefix);
                leaving.extend(&delta.body);
                leaving.append(delta.suffix);
            }
        }
        leaving.extend(b"\n");
    }
}

/// The queue of records to be written.
#[derive(Debug)]
pub struct Outbox {
    bound: usize,
    /// Records of which no byte has been written.
    waiting: VecDeque<Record>,
    waiting_bytes: usize,
    /// The bytes of the records being written, which no longer join with anything.
    leaving: Pieces,
    /// How much of `leaving` has been written.
    written: usize,
    /// Whether the output was full at the last write.
    is_lagging: bool,
    /// Whether deltas may join at all.
    may_join: bool,
}

impl Outbox {
    /// Creates an empty outbox that asks for a slower engine above `bound` bytes.
    pub fn new(bound: usize) -> Self {
        Self {
            bound,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            leaving: Pieces::default(),
            written: 0,
            is_lagging: false,
            may_join: true,
        }
    }

    /// Writes every record as it was pushed, however slow the reader is, so that the output does not depend on timing.
    /// Only the bound then limits the memory.
    pub fn without_joining(self) -> Self {
        Self { may_join: false, ..self }
    }

    /// Queues a record. It joins with the last one of its session if both are deltas of one block and the reader lags.
    pub fn push(&mut self, record: Record) {
        let record = match record {
            Record::Delta(delta) if self.is_lagging && self.may_join => match self.joinable(&delta) {
                Some(place) => return self.join(place, delta),
                None => Record::Delta(delta),
            },
            record => record,
        };
        self.waiting_bytes += record.len();
        self.waiting.push_back(record);
    }

    /// Returns the place of the delta that another one joins. Only deltas of other sessions may be between them.
    fn joinable(&self, delta: &Delta) -> Option<usize> {
        for (place, record) in self.waiting.iter().enumerate().rev().take(LOOKED_BACK) {
            match record {
                Record::Delta(earlier) if earlier.key == delta.key => return Some(place),
                Record::Delta(earlier) if earlier.session() != delta.session() => {}
                _ => return None,
            }
        }
        None
    }

    fn join(&mut self, place: usize, mut delta: Box<Delta>) {
        if let Some(Record::Delta(earlier)) = self.waiting.get_mut(place) {
            let before = earlier.len();
            std::mem::swap(&mut earlier.body, &mut delta.body);
            delta.body.extend_from_slice(&earlier.body);
            *earlier = delta;
            self.waiting_bytes += earlier.len();
            self.waiting_bytes -= before;
        }
    }

    /// Returns whether everything has been written.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.leaving.is_empty()
    }

    /// Returns the number of bytes still to be written.
    pub fn queued_bytes(&self) -> usize {
        self.waiting_bytes + self.leaving.len() - self.written
    }

    /// Returns whether the engine should slow down.
    pub fn is_over_bound(&self) -> bool {
        self.queued_bytes() > self.bound
    }

    /// Returns whether so much is queued that no further command should be read.
    pub fn is_far_over_bound(&self) -> bool {
        self.queued_bytes() > self.bound.saturating_mul(FAR_OVER)
    }

    /// Writes as much as the output takes without waiting. A full output is not an error.
    pub fn flush_now(&mut self, output: &mut Output) -> io::Result<()> {
        self.flush_with(|slices| output.try_write_slices(slices))
    }

    /// Waits until the output takes more, then writes. Returns at once if nothing is queued.
    ///
    /// Cancel-safe: bytes move only after the wait.
    pub async fn drain(&mut self, output: &mut Output) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        output.writable().await?;
        self.flush_now(output)
    }

    fn flush_with(&mut self, mut write: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>) -> io::Result<()> {
        loop {
            self.gather();
            if self.leaving.is_empty() {
                self.is_lagging = false;
                self.waiting.shrink_to(KEPT_CAPACITY / size_of::<Record>());
                return Ok(());
            }
            match self.leaving.write_from(self.written, &mut write) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.is_lagging = true;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Once the previous bytes are written, gathers the next records for one write.
    fn gather(&mut self) {
        if self.written < self.leaving.len() {
            return;
        }
        self.leaving.clear(KEPT_CAPACITY);
        self.written = 0;
        while let Some(record) = self.waiting.front() {
            if !self.leaving.is_empty() && self.leaving.len() + record.len() > GATHERED {
                break;
            }
            self.waiting_bytes -= record.len();
            if let Some(record) = self.waiting.pop_front() {
                record.append_to(&mut self.leaving);
            }
        }
    }
}

impl Default for Outbox {
    fn default() -> Self {
        Self::new(DEFAULT_OUTBOX_BOUND)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::memory;
    use crate::pieces::Shared;

    fn plain(text: &str) -> Record {
        Record::Plain(text.as_bytes().to_vec())
    }

    fn delta(key: u64, body: &str) -> Record {
        let (prefix, suffix) = (format!("<{key}:").into_bytes(), b">".to_vec());
        Delta { key, prefix: prefix.into(), body: body.as_bytes().to_vec(), suffix: suffix.into() }.into()
    }

    fn full() -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Writes everything and returns it.
    fn written(outbox: &mut Outbox) -> String {
        let mut bytes = Vec::new();
        outbox
            .flush_with(|slices| {
                slices.iter().for_each(|slice| bytes.extend_from_slice(slice));
                Ok(slices.iter().map(|slice| slice.len()).sum())
            })
            .unwrap();
        assert!(outbox.is_empty());
        assert_eq!(outbox.queued_bytes(), 0);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn reader_that_keeps_up_sees_every_delta() {
        let mut outbox = Outbox::default();
        outbox.push(delta(1, "a"));
        outbox.push(delta(1, "b"));
        assert_eq!(written(&mut outbox), "<1:a>\n<1:b>\n");
    }

    #[test]
    fn deltas_of_one_block_join_while_the_reader_lags() {
        let mut outbox = Outbox::default();
        outbox.push(delta(1, "a"));
        outbox.flush_with(|_| full()).unwrap();
        for record in [delta(1, "b"), delta(1, "c"), delta(2, "d"), plain("e"), delta(2, "f"), delta(2, "g")]
        {
            outbox.push(record);
        }
        let queued = outbox.queued_bytes();
        let text = written(&mut outbox);
        assert_eq!(text, "<1:a>\n<1:bc>\n<2:d>\ne\n<2:fg>\n");
        assert_eq!(queued, text.len());
        outbox.push(delta(2, "h"));
        outbox.push(delta(2, "i"));
        assert_eq!(written(&mut outbox), "<2:h>\n<2:i>\n");
    }

    #[test]
    fn deltas_of_sessions_that_answer_side_by_side_join() {
        let mut outbox = Outbox::default();
        let of = |session: u32, body: &str| delta(Delta::key_in(session, 1), body);
        let key = |session: u32| Delta::key_in(session, 1);
        outbox.push(plain("x"));
        outbox.flush_with(|_| full()).unwrap();
        for record in [of(1, "a"), of(2, "A"), of(1, "b"), of(2, "B"), plain("y"), of(1, "c"), of(2, "C")] {
            outbox.push(record);
        }
        let queued = outbox.queued_bytes();
        let text = written(&mut outbox);
        let expected = format!("x\n<{0}:ab>\n<{1}:AB>\ny\n<{0}:c>\n<{1}:C>\n", key(1), key(2));
        assert_eq!((text.as_str(), queued), (expected.as_str(), expected.len()));
    }

    #[test]
    fn partly_written_record_is_never_changed() {
        let mut outbox = Outbox::default();
        outbox.push(delta(1, "abc"));
        let mut counts = [4].into_iter();
        outbox.flush_with(|_| counts.next().map_or_else(full, Ok)).unwrap();
        outbox.push(delta(1, "def"));
        assert_eq!(written(&mut outbox), "bc>\n<1:def>\n");
    }

    #[test]
    fn many_small_records_cost_one_write() {
        let mut outbox = Outbox::default();
        for _ in 0..1000 {
            outbox.push(plain("0123456789"));
        }
        let mut writes = 0;
        outbox
            .flush_with(|slices| {
                writes += 1;
                Ok(slices.iter().map(|slice| slice.len()).sum())
            })
            .unwrap();
        assert_eq!(writes, 1);
    }

    #[test]
    fn bounds_follow_the_queued_bytes() {
        let mut outbox = Outbox::new(10);
        outbox.push(plain("123456789"));
        assert!(!outbox.is_over_bound());
        outbox.push(plain(""));
        assert!(outbox.is_over_bound() && !outbox.is_far_over_bound());
        outbox.push(plain(&"x".repeat(30)));
        assert!(outbox.is_far_over_bound());
        written(&mut outbox);
        assert!(!outbox.is_over_bound());
    }

    #[test]
    fn stopped_reader_costs_about_the_size_of_the_text() {
        let (_input, mut output, mut client) = memory::pair(4096);
        let mut outbox = Outbox::default();
        let prefix = vec![b'p'; 300];
        for _ in 0..20_000 {
            let (prefix, suffix) = (prefix.clone().into(), b"}".to_vec().into());
            outbox.push(Delta { key: 7, prefix, body: b"0123456789".to_vec(), suffix }.into());
            outbox.flush_now(&mut output).unwrap();
        }
        let text = 20_000 * 10;
        assert!(outbox.queued_bytes() < text + 4096, "{} bytes are queued", outbox.queued_bytes());
        let mut digits = 0;
        while !outbox.is_empty() || digits < text {
            digits += client.receive_now(usize::MAX).iter().filter(|byte| byte.is_ascii_digit()).count();
            outbox.flush_now(&mut output).unwrap();
        }
        assert_eq!(digits, text);
    }

    #[test]
    fn records_that_share_bytes_pass_intact_through_a_narrow_pipe() {
        for may_join in [false, true] {
            let (_input, mut output, mut client) = memory::pair(1000);
            let mut outbox = Outbox { may_join, ..Outbox::default() };
            let mut streamed = Shared::default();
            for number in 0..300 {
                let body = format!("{number}.").repeat(20).into_bytes();
                streamed.extend(&body);
                let mut snapshot = Pieces::default();
                snapshot.extend(b"|");
                snapshot.share(&streamed);
                outbox.push(Delta { key: 1, prefix: Pieces::default(), body, suffix: snapshot }.into());
                if number % 100 == 99 {
                    let mut whole = Pieces::default();
                    whole.extend(b"|");
                    whole.share(&streamed);
                    outbox.push(whole.into());
                }
                outbox.flush_now(&mut output).unwrap();
            }
            let mut read = Vec::new();
            while !outbox.is_empty() {
                read.extend(client.receive_now(usize::MAX));
                outbox.flush_now(&mut output).unwrap();
            }
            read.extend(client.receive_now(usize::MAX));
            let mut so_far = String::new();
            for line in String::from_utf8(read).unwrap().lines() {
                let (body, snapshot) = line.split_once('|').unwrap();
                so_far.push_str(body);
                assert!(snapshot == so_far);
            }
            let expected: String = (0..300).map(|number| format!("{number}.").repeat(20)).collect();
            assert!(so_far == expected);
        }
    }

    #[test]
    fn memory_of_a_backlog_is_released() {
        let mut outbox = Outbox::default();
        outbox.push(Record::Plain(vec![b'x'; 100 * 1024 * 1024]));
        for _ in 0..100_000 {
            outbox.push(plain("small"));
        }
        assert_eq!(written(&mut outbox).len(), 100 * 1024 * 1024 + 1 + 100_000 * 6);
        assert!(outbox.leaving.capacity() <= KEPT_CAPACITY);
        assert!(outbox.waiting.capacity() * size_of::<Record>() <= KEPT_CAPACITY);
    }

    #[test]
    fn failing_output_is_an_error() {
        let mut outbox = Outbox::default();
        outbox.push(plain("a"));
        let error = outbox.flush_with(|_| Err(io::ErrorKind::BrokenPipe.into())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[derive(Debug, Clone)]
    enum Step {
        Plain,
        Delta(u64),
        Flush,
        Read(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            Just(Step::Plain),
            (0_u64..3).prop_map(Step::Delta),
            (0_u64..3).prop_map(Step::Delta),
            Just(Step::Flush),
            (1_usize..40).prop_map(Step::Read),
        ]
    }

    /// Turns lines into `(key, body)` and joins neighbours of one key, so that joined and unjoined output compare.
    fn joined(text: &str) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            let inner = line.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
            match (inner.and_then(|inner| inner.split_once(':')), found.last_mut()) {
                (Some((key, body)), Some((last, bodies))) if last == key => bodies.push_str(body),
                (Some((key, body)), _) => found.push((key.to_owned(), body.to_owned())),
                (None, _) => found.push((String::new(), line.to_owned())),
            }
        }
        found
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_reordered_under_any_schedule(
            steps in prop::collection::vec(step(), 0..300),
            capacity in 1_usize..50,
        ) {
            let (_input, mut output, mut client) = memory::pair(capacity);
            let mut outbox = Outbox::new(100);
            let (mut pushed, mut read) = (Pieces::default(), Vec::new());
            let mut push = |outbox: &mut Outbox, record: Record| {
                record.clone().append_to(&mut pushed);
                outbox.push(record);
            };
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Plain => push(&mut outbox, plain(&format!("plain {number}"))),
                    Step::Delta(key) => push(&mut outbox, delta(key, &format!("{number}."))),
                    Step::Flush => outbox.flush_now(&mut output).unwrap(),
                    Step::Read(count) => read.extend(client.receive_now(count)),
                }
            }
            while !outbox.is_empty() {
                outbox.flush_now(&mut output).unwrap();
                read.extend(client.receive_now(usize::MAX));
            }
            read.extend(client.receive_now(usize::MAX));
            let (pushed, read) = (String::from_utf8(pushed.to_vec()).unwrap(), String::from_utf8(read).unwrap());
            prop_assert_eq!(joined(&read), joined(&pushed));
        }
    }
}
