//! libFuzzer on [`recto_fuzz::acp`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| recto_fuzz::run(recto_fuzz::acp::check, input));
