//! Replays the corpora and the seeds.
#![allow(clippy::unwrap_used)]

use std::fs;

use recto_fuzz::{Check, TARGETS, corpus, seeds};

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
        let inputs = corpus::inputs(target).unwrap();
        assert!(!inputs.is_empty(), "{target}: no corpus");
        eprintln!("{target}: {} inputs", inputs.len());
        inputs.iter().for_each(|input| check(input));
    }
}

#[test]
fn packing_keeps_every_input_in_any_order() {
    for (target, _) in TARGETS {
        let inputs = corpus::unpack(&fs::read(corpus::archive(target)).unwrap()).unwrap();
        let reversed = inputs.iter().rev().cloned().collect();
        assert_eq!(corpus::unpack(&corpus::pack(reversed).unwrap()).unwrap(), inputs, "{target}");
    }
}
