//! The protocols that clients speak, as translations of one vocabulary.
