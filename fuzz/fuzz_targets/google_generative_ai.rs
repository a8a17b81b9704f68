#![no_main]

use bowline_fuzz::check_decoder;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| check_decoder("google-generative-ai", bytes));
