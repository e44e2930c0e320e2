#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(varve_js::fuzzing::grown(data)));
