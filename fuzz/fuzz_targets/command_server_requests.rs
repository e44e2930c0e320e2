#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| varve_hgcli::fuzzing::command_server_requests(data));
