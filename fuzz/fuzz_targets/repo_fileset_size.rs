#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| varve_repo::fuzzing::fileset_size(data));
