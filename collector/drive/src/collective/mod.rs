//! Collectives: what they are, which messages they are made of, and their arithmetic.
//!
//! The schedule does no IO: [`operation`] says what is asked for, [`channel_split`] which channel
//! takes which bytes, [`ring`] which chunks a rank passes on and [`slicing`] the messages of a
//! chunk. [`run`] moves them over a network, [`arithmetic`] reduces them, [`fill`] makes inputs and
//! compares results.

pub mod arithmetic;
pub mod buffers;
pub mod channel_split;
pub mod fill;
mod inbound;
pub mod kind;
mod lane;
pub mod operation;
mod outbound;
pub mod ring;
pub mod run;
pub mod slicing;

pub use kind::{DataType, Kind, Operator};
pub use operation::Operation;
