//! What describes a part of a protocol, in the tables that also decode and encode it.

use schemars::{JsonSchema, Schema, SchemaGenerator};

/// Whether this build can generate schemas.
pub(crate) const IS_GENERATED: bool = cfg!(any(test, feature = "schema"));

/// A function that describes something. It is kept only where schemas are generated (the feature `schema`): the tables are
/// part of the program, and whatever they name would be too.
#[derive(Debug)]
pub(crate) struct Describe<T> {
    describe: Option<fn(&mut SchemaGenerator) -> T>,
}

/// Describes something that is written.
pub(crate) type SchemaFn = Describe<Schema>;

impl<T: Default> Describe<T> {
    pub const fn new(describe: fn(&mut SchemaGenerator) -> T) -> Self {
        Self { describe: if IS_GENERATED { Some(describe) } else { None } }
    }

    /// Returns the description; an empty one where no schemas are generated.
    pub fn with(self, generator: &mut SchemaGenerator) -> T {
        self.describe.map(|describe| describe(generator)).unwrap_or_default()
    }
}

impl<T> Clone for Describe<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Describe<T> {}

/// Describes `T`, under its own name.
pub(crate) const fn schema_of<T: JsonSchema>() -> SchemaFn {
    SchemaFn::new(SchemaGenerator::subschema_for::<T>)
}
