//! libFuzzer on [`recto_fuzz::document`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| recto_fuzz::run(recto_fuzz::document::check, input));
