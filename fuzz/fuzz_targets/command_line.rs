//! Command lines, which a model writes: no panic, and no text that takes too long.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    bowline_approval::read_command_line(text);
});
