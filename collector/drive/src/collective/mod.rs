//! Collectives: what they are, which messages they consist of, and their arithmetic.
//!
//! The schedule does no IO: [`operation`] is the request, [`channel_split`] assigns bytes to
//! channels, [`ring`] chunks to ranks and [`slicing`] messages to chunks. [`run`] moves them over a
//! network, [`arithmetic`] reduces them, [`fill`] creates inputs and checks results.

pub mod arithmetic;
pub mod buffers;
pub mod channel_split;
pub mod fill;
mod inbound;
pub mod kind;
mod lane;
pub mod observer;
pub mod operation;
mod outbound;
pub mod ring;
pub mod run;
pub mod slicing;
mod transfers;

pub use kind::{DataType, Kind, Operator};
pub use operation::Operation;
