//! Collectives: what they are, which messages they are made of, and their arithmetic.

pub mod kind;

pub use kind::{DataType, Kind, Operator};
