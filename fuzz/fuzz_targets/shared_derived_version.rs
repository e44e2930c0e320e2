#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| varve_shared::fuzzing::derived_version(data));
