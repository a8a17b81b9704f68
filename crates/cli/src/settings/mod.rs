//! `settings.json`: a row of `table` for each setting, and a field of `file` that it sets.

mod effects;
mod file;
mod groups;
mod help;
mod table;
mod value;

pub(crate) use file::SettingsFile;
pub(crate) use help::{INTRODUCTION, described, help};
pub(crate) use table::MOST_SPENT;
