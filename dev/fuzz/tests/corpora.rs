//! Replays what the fuzzers kept and what they started from.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use recto_fuzz::{Check, TARGETS, seeds};

fn check_of(target: &str) -> Check {
    TARGETS.iter().find(|(name, _)| *name == target).unwrap().1
}

#[test]
fn every_seed_holds() {
    let seeds = seeds::seeds();
    for (target, _) in TARGETS {
        assert!(seeds.iter().any(|(name, _)| name == target), "{target} starts from nothing");
    }
    for (target, input) in seeds {
        check_of(target)(&input);
    }
}

#[test]
fn every_corpus_holds() {
    for (target, check) in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        let mut n_inputs = 0;
        for entry in fs::read_dir(&folder).unwrap() {
            check(&fs::read(entry.unwrap().path()).unwrap());
            n_inputs += 1;
        }
        assert!(n_inputs > 0, "{target}: no corpus");
    }
}
