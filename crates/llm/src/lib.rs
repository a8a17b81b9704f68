//! Model providers: requests, streamed answers, models, credentials.
