#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| varve_repo::fuzzing::file_text(data));
