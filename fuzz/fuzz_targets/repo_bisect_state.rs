#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| varve_repo::fuzzing::bisect_state(data));
