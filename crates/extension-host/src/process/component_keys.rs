//! The keys under which clients know the components of a session's extensions. Each names its extension, so that none can
//! show anything in the place of another one's component.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use crate::process::connection::lock;

/// The keys that are in use.
#[derive(Debug, Default)]
pub(crate) struct ComponentKeys(Mutex<HashSet<String>>);

/// A key in use, until this is dropped.
#[derive(Debug)]
pub(crate) struct ComponentKey {
    keys: Arc<ComponentKeys>,
    text: Arc<str>,
}

impl ComponentKeys {
    /// Returns a key for a component of an extension, which knows it under a key of its own.
    pub fn take(self: &Arc<Self>, extension: &str, own_key: &str) -> ComponentKey {
        let plain = format!("{extension}:{own_key}");
        let mut text = plain.clone();
        let mut used = lock(&self.0);
        let mut number = 1;
        while !used.insert(text.clone()) {
            number += 1;
            text = format!("{plain}-{number}");
        }
        ComponentKey { keys: Arc::clone(self), text: text.into() }
    }

    /// Tells whether a component is shown under a key.
    pub fn has(&self, key: &str) -> bool {
        lock(&self.0).contains(key)
    }
}

impl ComponentKey {
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }
}

impl Drop for ComponentKey {
    fn drop(&mut self) {
        lock(&self.keys.0).remove(&*self.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_name_their_extension_and_are_free_again_after_use() {
        let keys = Arc::new(ComponentKeys::default());
        let first = keys.take("game", "1");
        let second = keys.take("game", "1");
        assert_eq!((&**first.text(), &**second.text()), ("game:1", "game:1-2"));
        drop(first);
        assert!(!keys.has("game:1") && keys.has("game:1-2"));
        assert_eq!(&**keys.take("game", "1").text(), "game:1");
    }
}
