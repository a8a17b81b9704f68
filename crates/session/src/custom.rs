//! The data of extensions on the current branch.

use serde::Deserialize;
use serde_json::Value;

use crate::decode::Text;
use crate::entry::Kind;
use crate::{Error, Session};

/// Data of an extension.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomData {
    pub custom_type: String,
    pub data: Value,
}

#[derive(Deserialize)]
struct Typed<'a> {
    #[serde(borrow, rename = "customType")]
    custom_type: Text<'a>,
}

#[derive(Deserialize)]
struct WithData {
    #[serde(default)]
    data: Value,
}

impl Session {
    /// Returns the data of these types on the way from the root to the leaf, the newest first, until `is_enough`. Only
    /// entries with data of extensions are read; those that cannot be are left out.
    pub fn custom_data(
        &self,
        types: &[&str],
        mut is_enough: impl FnMut(&CustomData) -> bool,
    ) -> Result<Vec<CustomData>, Error> {
        let mut found = Vec::new();
        for node in self.tree.path().into_iter().rev().filter(|node| node.kind == Kind::Custom) {
            let line = self.storage.read_exactly(node)?;
            let Ok(Typed { custom_type }) = serde_json::from_slice(&line) else { continue };
            if !types.contains(&custom_type.0.as_ref()) {
                continue;
            }
            let Ok(WithData { data }) = serde_json::from_slice(&line) else { continue };
            let custom = CustomData { custom_type: custom_type.0.into_owned(), data };
            let is_last = is_enough(&custom);
            found.push(custom);
            if is_last {
                break;
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::fixture::Written;

    #[test]
    fn newest_data_of_a_type_comes_first_and_other_branches_do_not_count() {
        let written = Written::new(&[
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-16T00:55:48.502Z","cwd":"/"}"#,
            r#"{"type":"custom","id":"1","parentId":null,"timestamp":"","customType":"a","data":1}"#,
            r#"{"type":"custom","id":"2","parentId":"1","timestamp":"","customType":"a","data":"other branch"}"#,
            r#"{"type":"custom","id":"3","parentId":"1","timestamp":"","customType":"b","data":{}}"#,
            r#"{"type":"custom","id":"4","parentId":"3","timestamp":"","customType":"a","data":[2]}"#,
            r#"{"type":"custom","id":"5","parentId":"4","timestamp":"","customType":7}"#,
            r#"{"type":"custom","id":"6","parentId":"5","timestamp":"","customType":"a"}"#,
        ]);
        let session = written.open();
        let data = |types: &[&str], most: usize| {
            let mut count = 0;
            let found = session.custom_data(types, |_| {
                count += 1;
                count == most
            });
            found.unwrap().into_iter().map(|custom| custom.data).collect::<Vec<_>>()
        };
        assert_eq!(data(&["a"], 9), [json!(null), json!([2]), json!(1)]);
        assert_eq!(data(&["a", "b"], 3), [json!(null), json!([2]), json!({})]);
    }
}
