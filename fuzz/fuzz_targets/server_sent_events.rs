#![no_main]

use bowline_fuzz::check_server_sent_events;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| check_server_sent_events(bytes));
