//! The varve binary: arguments, terminal, one file per command.

fn main() {}
