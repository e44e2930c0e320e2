#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| varve_patch::fuzzing::chosen_changes(data));
