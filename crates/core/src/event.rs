//! What a client can ask of the engine.
