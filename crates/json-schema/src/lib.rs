//! Checks values against JSON Schemas.
//!
//! There are two ways to do it. A [`Schema`] is compiled before it is used and checks every keyword that it has; one with a
//! keyword that cannot be checked is refused. [`check_arguments`] converts the arguments of a tool as far as that does no
//! harm, and ignores what it does not know, because nobody could change the schema of a tool when it is called.
//!
//! Everything is bounded: schemas, the work of a check and what it reports. Regular expressions run in linear time.

mod arguments;
mod check;
mod compile;
mod decimal;
mod equality;
mod formats;
pub mod javascript_pattern;
mod pattern;
mod place;
mod schema;
mod wording;

pub use arguments::check as check_arguments;
pub use schema::{LARGEST_SCHEMA, Schema, SchemaError};
