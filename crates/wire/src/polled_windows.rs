//! Nothing can be polled on Windows: stand-in threads read and write instead.

use std::io::{self, IoSlice};

/// A type without values, in place of the polled pipe or socket of Unix.
#[derive(Debug)]
pub(crate) enum Polled {}

impl Polled {
    pub(crate) async fn read(&mut self, _buffer: &mut Vec<u8>) -> io::Result<usize> {
        match *self {}
    }

    pub(crate) fn try_write(&mut self, _slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match *self {}
    }

    pub(crate) async fn writable(&mut self) -> io::Result<()> {
        match *self {}
    }

    pub(crate) async fn reader_gone(&mut self) -> io::Result<()> {
        match *self {}
    }
}
