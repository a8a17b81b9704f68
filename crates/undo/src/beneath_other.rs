//! Access to what is below a folder without following links, where it is not possible yet.

use std::path::Path;

use crate::error::Error;
use crate::state::Stat;

pub(crate) const OWNER_RIGHTS: u32 = 0o700;

/// A folder; none can be opened.
#[derive(Debug)]
pub enum Folder {}

/// A name in a folder.
pub struct Name {
    pub name: String,
    pub is_lossy: bool,
}

impl Folder {
    pub fn open(_: &Path) -> Result<Self, Error> {
        Err(Error::Unsupported)
    }

    pub fn path(&self) -> &Path {
        match *self {}
    }

    pub fn enter(&self, _: &str) -> Result<Self, Error> {
        match *self {}
    }

    pub fn parent_of<'a>(&self, _: &'a str) -> Result<(Self, &'a str), Error> {
        match *self {}
    }

    pub fn names(&self, _: usize) -> Result<(Vec<Name>, bool), Error> {
        match *self {}
    }

    pub fn stat(&self, _: &str) -> Result<Option<Stat>, Error> {
        match *self {}
    }

    pub fn own_stat(&self) -> Result<Stat, Error> {
        match *self {}
    }

    pub fn target(&self, _: &str) -> Result<Option<String>, Error> {
        match *self {}
    }

    pub fn read(&self, _: &str, _: u64) -> Result<Option<(Vec<u8>, Stat)>, Error> {
        match *self {}
    }

    pub fn again(&self) -> Result<Self, Error> {
        match *self {}
    }

    pub fn write_new(
        &self,
        _: &str,
        _: impl std::io::Read,
        _: u32,
        _: Option<(u32, u32)>,
    ) -> Result<(), Error> {
        match *self {}
    }

    pub fn copy(&self, _: &str, _: &Self, _: &str) -> Result<(), Error> {
        match *self {}
    }

    pub fn link(&self, _: &str, _: &str) -> Result<(), Error> {
        match *self {}
    }

    pub fn create_folder(&self, _: &str) -> Result<(), Error> {
        match *self {}
    }

    pub fn remove_folder(&self, _: &str) -> Result<bool, Error> {
        match *self {}
    }

    pub fn remove(&self, _: &str) -> Result<(), Error> {
        match *self {}
    }

    pub fn set_mode(&self, _: &str, _: u32) -> Result<(), Error> {
        match *self {}
    }

    pub fn give(&self, _: &str, _: Option<(u32, u32)>) {
        match *self {}
    }

    pub fn rename(&self, _: &str, _: &Self, _: &str) -> Result<(), Error> {
        match *self {}
    }

    pub fn rename_new(&self, _: &str, _: &Self, _: &str) -> Result<(), Error> {
        match *self {}
    }

    pub fn created(&self, _: &str) -> Option<i64> {
        match *self {}
    }
}

pub(crate) fn is_other_file_system(_: &Error) -> bool {
    false
}
