use std::fmt;
use std::io;

fn main() {
    println!("{}, {}", 1, 2);
}
