#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| varve_docdb::fuzzing::change_record(data));
