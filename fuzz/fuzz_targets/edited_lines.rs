#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| varve_workdir::fuzzing::edited_lines(data));
