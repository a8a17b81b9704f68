//! Rules about tool calls, and what users have decided.
