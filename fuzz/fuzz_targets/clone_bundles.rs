#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| varve_exchange::fuzzing::clone_bundles(data));
