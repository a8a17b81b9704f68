//! What takes part in a session from outside the program.
//!
//! Each part is an [`Host`](bowline_engine::Host): extension processes, which speak our protocol over
//! JSON lines.
