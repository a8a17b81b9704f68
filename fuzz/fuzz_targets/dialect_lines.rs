#![no_main]

use bowline_fuzz::check_lines;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| check_lines(bytes));
