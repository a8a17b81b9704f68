//! `package.json`: what a package says of itself.

use std::path::Path;

use serde_json::Value;

use super::Kind;

/// The largest file that is read.
const LARGEST: u64 = 1024 * 1024;

/// What `package.json` says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Manifest {
    package: Value,
}

/// What a package calls itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Described {
    pub name: Option<String>,
    pub version: Option<String>,
    pub description: Option<String>,
}

impl Manifest {
    /// Reads the file in a folder. One that cannot be read says nothing.
    pub fn read(folder: &Path) -> Self {
        let text = bowline_files::read_text(&folder.join("package.json"), LARGEST).unwrap_or_default();
        Self { package: serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default() }
    }

    /// Tells whether it says that this is a package of pi.
    pub fn is_of_pi(&self) -> bool {
        self.package["pi"].is_object()
    }

    /// Returns the paths and patterns of a kind, if there is a list of them.
    pub fn entries(&self, kind: Kind) -> Option<Vec<String>> {
        let entries = self.package["pi"][kind.folder_name()].as_array()?;
        entries.iter().map(|entry| entry.as_str().map(ToOwned::to_owned)).collect()
    }

    pub fn described(&self) -> Described {
        let text = |key: &str| {
            self.package[key].as_str().filter(|text| !text.trim().is_empty()).map(ToOwned::to_owned)
        };
        Described { name: text("name"), version: text("version"), description: text("description") }
    }
}

impl Described {
    /// Returns what the package in a folder calls itself.
    pub fn read(folder: &Path) -> Self {
        Manifest::read(folder).described()
    }
}
