//! A workspace that is an overlay: what tools change goes to a folder of the session, and into the real workspace only when
//! the client accepts it.
//!
//! `store` is that folder. `baseline` remembers what the real workspace was, so that nothing the user changed since is
//! overwritten. `listing` compares the two, `accepting` and `discarding` settle changes, `taking_out` removes settled ones from
//! the store, and `protection` says which paths are never applied. What is in the store was written by untrusted code: nothing
//! of it is opened through links, and its size, depth and kinds of files are not taken for granted.

mod accepting;
mod baseline;
mod discarding;
mod listing;
mod protection;
mod selection;
mod store;
mod taking_out;
#[cfg(test)]
mod tests;
mod upper;

pub(crate) use self::protection::Protection;
pub(crate) use self::store::{Store, forget, has_changes};
