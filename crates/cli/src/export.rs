//! `bowline export`: writes a session as one web page and says where it is.

use std::path::{Path, PathBuf};

use bowline_export::{Options, default_name, export_file};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::say;

/// Writes the page, into the current folder unless another place is asked for.
pub(crate) fn main(arguments: &Arguments) -> Result<(), Failure> {
    let Some(session) = arguments.file.as_deref().map(Path::new) else {
        return Err(Failure::Usage("export needs a session: bowline export FILE [--out FILE]".to_owned()));
    };
    let out = arguments.out.as_ref().map_or_else(|| PathBuf::from(default_name(session)), PathBuf::from);
    let options = Options { title: arguments.name.clone(), leaf: None };
    let page = export_file(session, &out, &options)?;
    say(&format!("{}\n", page.display()))
}
