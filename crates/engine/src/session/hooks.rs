//! Calling extensions at hooks.

use bowline_core::hook::HookEvent;

use super::Session;

impl Session {
    /// Tells the extensions that are not waited for of an event.
    pub(super) fn tell_extensions(&self, event: &HookEvent) {
        self.extensions.tell(event);
    }

    /// Goes on once every extension has registered.
    pub(super) fn extensions_ready(&mut self) {}
}
