//! Contents from git's object store, loose or packed, read without git: nothing of a repository that others made can run,
//! and what is found is compared with its name.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_zlib_with_limit};
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};

/// How many packs are kept open. They stay readable although a command removes the repository.
const MAX_PACKS: usize = 64;

/// How many objects may build on one another.
const MAX_CHAIN: usize = 256;

/// The most bytes of an object that another one is built on.
const MAX_BASE: u64 = 64 * 1024 * 1024;

/// How much compressed data has the first bytes of an object in any case.
const BEGINNING: u64 = 1024;

/// The object store of a repository.
#[derive(Debug)]
pub(crate) struct Objects {
    folder: PathBuf,
    packs: Mutex<Packs>,
}

/// The packs that were found so far. They stay open although others take their place.
#[derive(Debug, Default)]
struct Packs {
    open: Vec<Pack>,
    names: HashSet<PathBuf>,
    /// When the folder with the packs last changed, as it was looked at.
    listed: Option<SystemTime>,
}

#[derive(Debug)]
struct Pack {
    index: File,
    content: File,
    /// How many objects have a first byte of up to each.
    counts: Vec<u32>,
}

impl Packs {
    /// Opens the packs that are new. Returns whether there are any.
    fn list(&mut self, folder: &Path) -> bool {
        let folder = folder.join("pack");
        let changed = folder.metadata().and_then(|metadata| metadata.modified()).ok();
        if changed.is_none() || changed == self.listed {
            return false;
        }
        self.listed = changed;
        let known = self.open.len();
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let path = entry.path();
            let is_index = path.extension().is_some_and(|ending| ending == "idx");
            if self.open.len() < MAX_PACKS && is_index && self.names.insert(path.clone()) {
                self.open.extend(Pack::open(&path));
            }
        }
        self.open.len() > known
    }
}

impl Objects {
    pub fn open(folder: &Path) -> Self {
        let mut packs = Packs::default();
        packs.list(folder);
        Self { folder: folder.to_owned(), packs: Mutex::new(packs) }
    }

    /// Returns the content with a name, if it has exactly `size` bytes.
    pub fn content(&self, name: &[u8; 20], size: u64) -> Option<Vec<u8>> {
        let found = self.loose(name, size).or_else(|| self.packed(name, size))?;
        let mut digest = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
        digest.update(format!("blob {}\0", found.len()).as_bytes());
        digest.update(&found);
        (found.len() as u64 == size && digest.finish().as_ref() == name).then_some(found)
    }

    /// Returns how many bytes the content with a name has.
    pub fn size(&self, name: &[u8; 20]) -> Option<u64> {
        let header = bowline_files::open(&self.loose_path(name))
            .ok()
            .and_then(|file| read_at_most(&file, 0, BEGINNING));
        match header {
            Some(compressed) => {
                let header = beginning(&compressed, 64)?;
                let header = header.split(|byte| *byte == 0).next()?;
                std::str::from_utf8(header).ok()?.strip_prefix("blob ")?.parse().ok()
            }
            None => self.in_packs(|pack| pack.size(name)),
        }
    }

    fn loose_path(&self, name: &[u8; 20]) -> PathBuf {
        let text: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(&text[..2]).join(&text[2..])
    }

    fn loose(&self, name: &[u8; 20], size: u64) -> Option<Vec<u8>> {
        let compressed = bowline_files::read(&self.loose_path(name), compressed_limit(size)).ok()?;
        let limit = usize::try_from(size).ok()?.checked_add(64)?;
        let mut object = decompress_to_vec_zlib_with_limit(&compressed, limit).ok()?;
        let header = object.iter().position(|byte| *byte == 0)?;
        Some(object.split_off(header + 1))
    }

    fn packed(&self, name: &[u8; 20], size: u64) -> Option<Vec<u8>> {
        self.in_packs(|pack| pack.content(name, size))
    }

    /// Looks into the packs, and into new ones if it is in none: git may have packed the objects anew.
    fn in_packs<R>(&self, look: impl Fn(&Pack) -> Option<R>) -> Option<R> {
        let mut packs = self.packs.lock().unwrap_or_else(PoisonError::into_inner);
        let found = packs.open.iter().find_map(&look);
        if found.is_some() || !packs.list(&self.folder) {
            return found;
        }
        packs.open.iter().find_map(&look)
    }
}

impl Pack {
    fn open(path: &Path) -> Option<Self> {
        let index = bowline_files::open(path).ok()?;
        let content = bowline_files::open(&path.with_extension("pack")).ok()?;
        let head = read_at(&index, 0, 8 + 256 * 4)?;
        if head.get(..8)? != b"\xfftOc\0\0\0\x02" {
            return None;
        }
        let counts: Vec<u32> = head[8..].chunks_exact(4).filter_map(number).collect();
        (counts.len() == 256 && counts.is_sorted()).then_some(Self { index, content, counts })
    }

    /// Returns the content with a name.
    fn content(&self, name: &[u8; 20], size: u64) -> Option<Vec<u8>> {
        let mut offset = self.find(name)?;
        let mut deltas = Vec::new();
        let mut content = loop {
            let object = self.object(offset, if deltas.is_empty() { size } else { MAX_BASE })?;
            match object.base {
                None => break object.data,
                Some(_) if deltas.len() == MAX_CHAIN => return None,
                Some(Base::At(base)) => offset = base,
                Some(Base::Named(base)) => offset = self.find(&base)?,
            }
            deltas.push(object.data);
        };
        while let Some(delta) = deltas.pop() {
            content = apply(&delta, &content)?;
        }
        Some(content)
    }

    /// Returns how many bytes the content with a name has.
    fn size(&self, name: &[u8; 20]) -> Option<u64> {
        let offset = self.find(name)?;
        let (base, size, length) = self.header(offset)?;
        if base.is_none() {
            return Some(size);
        }
        // A delta begins with the lengths of what it builds on and of what it makes.
        let compressed = read_at_most(&self.content, offset + length as u64, BEGINNING)?;
        let mut bytes = beginning(&compressed, 32)?.into_iter();
        length_of(&mut bytes)?;
        length_of(&mut bytes)
    }

    /// Returns where an object begins.
    fn find(&self, name: &[u8; 20]) -> Option<u64> {
        let first = usize::from(name[0]);
        let total = u64::from(*self.counts.last()?);
        let mut low = if first == 0 { 0 } else { u64::from(self.counts[first - 1]) };
        let mut high = u64::from(self.counts[first]);
        let names = 8 + 256 * 4;
        while low < high {
            let middle = low.midpoint(high);
            let found = read_at(&self.index, names + middle * 20, 20)?;
            match found.as_slice().cmp(name) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    let offsets = names + total * 24;
                    let offset = number(&read_at(&self.index, offsets + middle * 4, 4)?)?;
                    if offset & 0x8000_0000 == 0 {
                        return Some(u64::from(offset));
                    }
                    let large = offsets + total * 4 + u64::from(offset & 0x7fff_ffff) * 8;
                    return Some(u64::from_be_bytes(read_at(&self.index, large, 8)?.try_into().ok()?));
                }
            }
        }
        None
    }

    /// Reads what is before an object: what it builds on, its size, and how long that is.
    fn header(&self, offset: u64) -> Option<(Option<Base>, u64, usize)> {
        let head = read_at_most(&self.content, offset, 64)?;
        let mut bytes = head.iter().copied();
        let first = bytes.next()?;
        let (kind, mut size, mut shift) = ((first >> 4) & 7, u64::from(first & 15), 4);
        let mut length = 1;
        let mut byte = first;
        while byte & 0x80 != 0 {
            byte = bytes.next()?;
            length += 1;
            size |= u64::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if shift > 60 {
                return None;
            }
        }
        let base = match kind {
            1..=4 => None,
            6 => {
                let mut byte = bytes.next()?;
                length += 1;
                let mut back = u64::from(byte & 0x7f);
                while byte & 0x80 != 0 {
                    byte = bytes.next()?;
                    length += 1;
                    back = back.checked_add(1)?.checked_mul(128)? | u64::from(byte & 0x7f);
                }
                // Only what comes before, so that there is no circle.
                Some(Base::At(offset.checked_sub(back).filter(|base| *base < offset)?))
            }
            7 => {
                let name = head.get(length..length + 20)?.try_into().ok()?;
                length += 20;
                Some(Base::Named(name))
            }
            _ => return None,
        };
        Some((base, size, length))
    }

    /// Reads an object of at most `limit` bytes.
    fn object(&self, offset: u64, limit: u64) -> Option<Object> {
        let (base, size, length) = self.header(offset)?;
        // A delta may be larger than what it makes, but never by much.
        if size > limit.saturating_mul(2).saturating_add(4096) {
            return None;
        }
        let compressed = read_at_most(&self.content, offset + length as u64, compressed_limit(size))?;
        let data = decompress_to_vec_zlib_with_limit(&compressed, usize::try_from(size).ok()?).ok()?;
        Some(Object { base, data })
    }
}

struct Object {
    base: Option<Base>,
    data: Vec<u8>,
}

/// What an object is built on.
enum Base {
    At(u64),
    Named([u8; 20]),
}

/// Reads a length in a delta.
fn length_of(bytes: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let (mut value, mut shift) = (0_u64, 0);
    loop {
        let byte = bytes.next()?;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        shift += 7;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        if shift > 60 {
            return None;
        }
    }
}

/// Returns the beginning of what was compressed, of which not all is there.
fn beginning(compressed: &[u8], limit: usize) -> Option<Vec<u8>> {
    match decompress_to_vec_zlib_with_limit(compressed, limit) {
        Ok(content) => Some(content),
        Err(error) => (error.status == TINFLStatus::HasMoreOutput).then_some(error.output),
    }
}

/// Returns what a delta makes of its base.
fn apply(delta: &[u8], base: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = delta.iter().copied();
    let (from, to) = (length_of(&mut bytes)?, length_of(&mut bytes)?);
    if from != base.len() as u64 || to > MAX_BASE {
        return None;
    }
    let mut made = Vec::with_capacity(usize::try_from(to).ok()?);
    while let Some(order) = bytes.next() {
        if order & 0x80 == 0 {
            let taken: Vec<u8> = bytes.by_ref().take(usize::from(order)).collect();
            if order == 0 || taken.len() != usize::from(order) {
                return None;
            }
            made.extend(taken);
        } else {
            let mut field = |first: u8, count: u8| {
                let mut value = 0_usize;
                for index in 0..count {
                    if order & (1 << (first + index)) != 0 {
                        value |= usize::from(bytes.next()?) << (8 * index);
                    }
                }
                Some(value)
            };
            let (start, length) = (field(0, 4)?, field(4, 3)?);
            let length = if length == 0 { 0x1_0000 } else { length };
            made.extend_from_slice(base.get(start..start.checked_add(length)?)?);
        }
        if made.len() as u64 > to {
            return None;
        }
    }
    (made.len() as u64 == to).then_some(made)
}

/// Returns more than any content of `size` bytes takes when compressed.
fn compressed_limit(size: u64) -> u64 {
    size.saturating_add(size / 8).saturating_add(4096)
}

fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

fn read_at(file: &File, offset: u64, length: usize) -> Option<Vec<u8>> {
    let found = read_at_most(file, offset, length as u64)?;
    (found.len() == length).then_some(found)
}

fn read_at_most(mut file: &File, offset: u64, length: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut found = Vec::new();
    file.take(length).read_to_end(&mut found).ok()?;
    Some(found)
}
