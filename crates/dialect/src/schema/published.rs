//! The finished schemas, as they are in the repository. The program prints them and takes the names of records from them;
//! what generates them is large and left to the tests, which fail when a schema is out of date.

use serde_json::Value;

/// Embeds the schemas that `build.rs` has compressed.
macro_rules! published {
    ($($name:literal),* $(,)?) => {
        const PUBLISHED: &[(&str, &[u8])] =
            &[$(($name, include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".zlib"))),)*];
    };
}

published!("acp", "extension", "omp", "operator", "operator-flat", "opi", "pi", "pi-classic");

/// Returns the finished schema of a dialect, or of the protocol of extensions (`extension`), as text.
pub fn published(name: &str) -> Option<String> {
    let (_, compressed) = PUBLISHED.iter().find(|(published, _)| *published == name)?;
    let text = miniz_oxide::inflate::decompress_to_vec_zlib(compressed).ok()?;
    String::from_utf8(text).ok()
}

/// Returns the definitions of the records of a dialect that are not responses; of a record in several forms, the first.
/// `None` if its schema is not published.
pub(super) fn records(dialect: &str) -> Option<Vec<Value>> {
    let schema: Value = serde_json::from_str(&published(dialect)?).ok()?;
    let definitions = &schema["$defs"];
    let resolve = |reference: &Value| {
        let name = reference["$ref"].as_str()?.strip_prefix("#/$defs/")?;
        definitions.get(name)
    };
    let records = definitions["Event"]["oneOf"].as_array()?.iter().filter_map(resolve);
    Some(records.map(|record| resolve(&record["oneOf"][0]).unwrap_or(record).clone()).collect())
}

#[cfg(test)]
mod tests {
    use crate::DIALECTS;

    use super::*;

    #[test]
    fn every_dialect_has_a_schema_with_the_names_of_its_records() {
        for entry in DIALECTS {
            let schema = published(entry.name).unwrap_or_default();
            assert!(schema.contains(&format!("bowline: the dialect {}", entry.name)), "{}", entry.name);
            assert_eq!(entry.protocol.record_names(), entry.protocol.generated_record_names());
        }
    }
}
