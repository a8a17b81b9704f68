//! What `--output-schema` asks of the answer to the last message.

use bowline_core::output::DEFAULT_RETRIES;
use bowline_json_schema::{LARGEST_SCHEMA, Schema};
use serde_json::Value;

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;

/// The most bytes of the file. White space does not count for the schema.
const LARGEST_FILE: u64 = 4 * LARGEST_SCHEMA as u64;

/// A schema that was read and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutputSchema {
    pub schema: Value,
    pub retries: u32,
}

impl OutputSchema {
    /// Reads the schema that the command line names, if it names one. No model is called for one that cannot be used.
    pub fn read(arguments: &Arguments, environment: &Environment) -> Result<Option<Self>, Failure> {
        let Some(path) = &arguments.output_schema else { return Ok(None) };
        let path = environment.expand(path);
        let refuse =
            |problem: String| Failure::Usage(format!("--output-schema {}: {problem}", path.display()));
        let text = bowline_files::read_text(&path, LARGEST_FILE)?;
        let schema: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| refuse(format!("it is not JSON: {error}")))?;
        if !schema.is_object() {
            return Err(refuse("a JSON Schema must be an object".to_owned()));
        }
        Schema::compile(&schema).map_err(|error| refuse(format!("it cannot be used: {error}")))?;
        Ok(Some(Self { schema, retries: arguments.output_retries.unwrap_or(DEFAULT_RETRIES) }))
    }
}
