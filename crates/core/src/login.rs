//! Logging in to providers.

/// A provider that a user may log in to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginProvider {
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Whether the user can log in to it here.
    pub is_available: bool,
    /// Whether there is a key for it, or it needs none.
    pub is_authenticated: bool,
}
