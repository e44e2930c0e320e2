#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| varve_revlog::fuzzing::stored_chunk(data));
