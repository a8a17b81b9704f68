//! Byte strings assembled without copying.
//!
//! In some dialects every update repeats the message so far. If each were a copy, an answer of `n` deltas would be copied
//! `n` times before the first byte is written, and as many copies would wait for a lagging reader. So the message is kept
//! once, as bytes that only grow, and a record refers to a prefix of it.

use std::io::IoSlice;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// Shorter bytes are copied: that costs less than another slice in a write.
const SHARED_FROM: usize = 4096;

/// How many slices are written at once. The shared ones alone exceed the capacity of a pipe.
const SLICES: usize = 64;

/// Bytes that can be part of many records. They only grow, so the prefix that a record refers to never changes.
#[derive(Debug, Default)]
pub struct Shared {
    bytes: Growing,
}

/// A connection is a task, and tasks may move to another thread; nobody waits for the lock.
type Growing = Arc<RwLock<Vec<u8>>>;

fn read(bytes: &Growing) -> RwLockReadGuard<'_, Vec<u8>> {
    bytes.read().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Adds bytes at the end.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.write().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
    }
}

impl From<Vec<u8>> for Shared {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes: Arc::new(RwLock::new(bytes)) }
    }
}

/// Bytes in pieces, some of them shared.
#[derive(Debug, Clone, Default)]
pub struct Pieces {
    /// The bytes that are not shared, without gaps.
    own: Vec<u8>,
    /// The shared parts between them, in order.
    shared: Vec<Part>,
    /// The total length of the shared parts.
    shared_length: usize,
}

/// A prefix of shared bytes.
#[derive(Debug, Clone)]
struct Part {
    /// How many unshared bytes precede it.
    after: usize,
    bytes: Growing,
    length: usize,
}

impl Pieces {
    /// Adds a copy of bytes.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.own.extend_from_slice(bytes);
    }

    /// Adds the current bytes of `shared`.
    pub fn share(&mut self, shared: &Shared) {
        let bytes = read(&shared.bytes);
        if bytes.len() < SHARED_FROM {
            return self.extend(&bytes);
        }
        let part = Part { after: self.own.len(), bytes: Arc::clone(&shared.bytes), length: bytes.len() };
        self.shared_length += part.length;
        self.shared.push(part);
    }

    /// Adds other pieces.
    pub fn append(&mut self, other: Self) {
        if !other.shared.is_empty() {
            let before = self.own.len();
            let parts = other.shared.into_iter();
            self.shared.extend(parts.map(|part| Part { after: before + part.after, ..part }));
            self.shared_length += other.shared_length;
        }
        self.append_own(other.own);
    }

    /// Adds bytes, without copying if they are the first and many.
    pub(crate) fn append_own(&mut self, bytes: Vec<u8>) {
        if self.own.is_empty() && bytes.len() > self.own.capacity() {
            self.own = bytes;
        } else {
            self.own.extend_from_slice(&bytes);
        }
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.own.len() + self.shared_length
    }

    /// Returns whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all bytes, and releases memory above `kept_capacity`.
    pub(crate) fn clear(&mut self, kept_capacity: usize) {
        self.own.clear();
        self.own.shrink_to(kept_capacity);
        if !self.shared.is_empty() {
            self.shared.clear();
            self.shared.shrink_to(kept_capacity / size_of::<Part>());
            self.shared_length = 0;
        }
    }

    /// Returns the allocated capacity in bytes.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.own.capacity() + self.shared.capacity() * size_of::<Part>()
    }

    /// Returns the bytes as one vector.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len());
        let mut from = 0;
        for part in &self.shared {
            bytes.extend_from_slice(&self.own[from..part.after]);
            bytes.extend_from_slice(&read(&part.bytes)[..part.length]);
            from = part.after;
        }
        bytes.extend_from_slice(&self.own[from..]);
        bytes
    }

    /// Passes `write` the bytes after the first `skipped`, or as many of them as should be written at once.
    pub(crate) fn write_from<T>(&self, skipped: usize, write: impl FnOnce(&[IoSlice<'_>]) -> T) -> T {
        if self.shared.is_empty() {
            return write(&[IoSlice::new(&self.own[skipped..])]);
        }
        let borrowed: Vec<_> = self.shared.iter().map(|part| read(&part.bytes)).collect();
        let mut slices = Vec::with_capacity(SLICES);
        let mut to_skip = skipped;
        let mut add = |bytes| {
            let bytes: &[u8] = bytes;
            let start = to_skip.min(bytes.len());
            to_skip -= start;
            if start < bytes.len() && slices.len() < SLICES {
                slices.push(IoSlice::new(&bytes[start..]));
            }
        };
        let mut from = 0;
        for (part, bytes) in self.shared.iter().zip(&borrowed) {
            add(&self.own[from..part.after]);
            add(&bytes[..part.length]);
            from = part.after;
        }
        add(&self.own[from..]);
        write(&slices)
    }
}

impl From<Vec<u8>> for Pieces {
    fn from(bytes: Vec<u8>) -> Self {
        Self { own: bytes, ..Self::default() }
    }
}

impl PartialEq for Pieces {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.to_vec() == other.to_vec()
    }
}

impl Eq for Pieces {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces whose shared parts have grown since.
    fn mixed() -> Pieces {
        let mut long = Shared::from(vec![b'l'; SHARED_FROM]);
        let mut short = Shared::from(b"short".to_vec());
        let mut pieces = Pieces::default();
        pieces.share(&long);
        pieces.extend(b"<one>");
        pieces.share(&short);
        long.extend(b"LONGER");
        short.extend(b"NEVER SEEN");
        pieces.share(&long);
        pieces.share(&long);
        let mut all = Pieces::from(b"before".to_vec());
        all.append(pieces);
        all.extend(b"after");
        long.extend(b"NEVER SEEN");
        all
    }

    fn expected() -> Vec<u8> {
        let long = "l".repeat(SHARED_FROM);
        format!("before{long}<one>short{long}LONGER{long}LONGERafter").into_bytes()
    }

    #[test]
    fn parts_do_not_change_after_they_were_added() {
        let pieces = mixed();
        assert_eq!(pieces.to_vec(), expected());
        assert_eq!(pieces.len(), expected().len());
        assert_eq!(pieces, Pieces::from(expected()));
        assert_eq!(pieces.shared.len(), 3, "short bytes are copied");
    }

    #[test]
    fn write_resumes_wherever_the_last_one_ended() {
        let (pieces, expected) = (mixed(), expected());
        for skipped in 0..=expected.len() {
            let written = pieces.write_from(skipped, |slices| {
                assert!(slices.iter().all(|slice| !slice.is_empty()));
                slices.iter().map(|slice| &**slice).collect::<Vec<_>>().concat()
            });
            assert!(written == expected[skipped..], "after {skipped}");
        }
    }

    #[test]
    fn one_write_has_a_bounded_number_of_slices() {
        let long = Shared::from(vec![b'l'; SHARED_FROM]);
        let mut pieces = Pieces::default();
        for _ in 0..SLICES {
            pieces.share(&long);
            pieces.extend(b",");
        }
        assert_eq!(pieces.write_from(0, |slices| slices.len()), SLICES);
        assert_eq!(pieces.write_from(pieces.len() - 1, |slices| slices.len()), 1);
    }
}
