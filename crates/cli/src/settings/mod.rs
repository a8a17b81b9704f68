//! `settings.json`: a row of `table` for each setting, and a field of `file` that it sets. `edit` changes such a file.

mod edit;
mod effects;
mod file;
mod groups;
mod help;
mod lock;
mod lookup;
mod members;
mod table;
mod value;

pub(crate) use edit::{NewFile, check_inside, edit, refusal};
pub(crate) use file::SettingsFile;
pub(crate) use help::{INTRODUCTION, described, help, in_place, plain};
pub(crate) use lookup::{Found, find, find_all};
pub(crate) use members::{member, with_member};
pub(crate) use table::{MOST_SPENT, OF_PROJECTS, settings};
