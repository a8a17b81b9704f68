#![no_main]

use bowline_sandbox::proxy::request_head::check_any_bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| check_any_bytes(bytes));
