//! The agent loop: admission, turns, queues, retry.
