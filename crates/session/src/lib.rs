//! The session file: an append-only tree on disk.
