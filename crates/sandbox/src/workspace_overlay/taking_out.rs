//! Taking changes out of an overlay that were applied or thrown away, while others stay.

use bowline_undo::{Folder, Kind};

use super::listing::Entry;
use super::store::Store;
use super::upper;
use crate::error::Error;

/// Opens both sides.
pub(super) fn sides(store: &Store) -> Result<(Folder, Folder), Error> {
    let upper = Folder::open(&store.upper()).map_err(Error::changes)?;
    Ok((upper, Folder::open(&store.workspace).map_err(Error::changes)?))
}

/// Takes changes out of the overlay, which are by path. What hides others says so name by name before. Nothing may be mounted.
/// A folder that stays, because it holds other changes, gets back its permissions if the change of them is taken back.
pub(super) fn take_out(store: &Store, entries: &[&Entry], takes_back: bool) -> Result<(), Error> {
    let (upper, real) = sides(store)?;
    upper::uncover(&upper, Some(&real), false, 0)
        .map_err(Error::preparing("taking changes out of the overlay"))?;
    for entry in entries.iter().rev() {
        let Ok((folder, name)) = upper.parent_of(&entry.path) else { continue };
        match folder.stat(name) {
            Ok(Some(stat)) if stat.kind == Kind::Folder => {
                // It may hold other changes. Then it shows through like the folder below it.
                if !folder.remove_folder(name).unwrap_or(false)
                    && takes_back
                    && let Some(before) =
                        entry.before.as_ref().filter(|before| before.stat.kind == Kind::Folder)
                {
                    let _ = folder.set_mode(name, before.stat.mode);
                }
            }
            Ok(Some(_)) => drop(folder.remove(name)),
            _ => {}
        }
    }
    Ok(())
}
