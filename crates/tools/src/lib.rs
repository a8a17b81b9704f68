//! The built-in tools of bowline.
