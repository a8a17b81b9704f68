//! `SYSTEM.md` and `APPEND_SYSTEM.md`: the instructions of the user or of a trusted project.

use std::path::{Path, PathBuf};

/// The longest file that is read.
const LARGEST: u64 = 256 * 1024;

/// Instructions that files add to or put in the place of bowline's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstructionFiles {
    /// Replaces bowline's instructions: the text of `SYSTEM.md`.
    pub replacement: Option<String>,
    /// Is appended to them: the text of `APPEND_SYSTEM.md`.
    pub addition: Option<String>,
}

/// Reads the first of each file in some folders. What cannot be read is reported and left out.
pub(crate) fn load(folders: &[PathBuf], problems: &mut Vec<String>) -> InstructionFiles {
    InstructionFiles {
        replacement: first(folders, "SYSTEM.md", problems),
        addition: first(folders, "APPEND_SYSTEM.md", problems),
    }
}

fn first(folders: &[PathBuf], name: &str, problems: &mut Vec<String>) -> Option<String> {
    folders.iter().find_map(|folder| read(&folder.join(name), problems))
}

fn read(path: &Path, problems: &mut Vec<String>) -> Option<String> {
    match bowline_files::read_text(path, LARGEST) {
        Ok(text) => {
            Some(text.trim_start_matches('\u{feff}').trim().to_owned()).filter(|text| !text.is_empty())
        }
        Err(error) if error.is_not_found() => None,
        Err(error) => {
            problems.push(error.to_string());
            None
        }
    }
}
