//! TCP streams: segments in, bytes in order out, gaps marked.
//!
//! [`streams::TcpStreams`] is the entry, [`sink::StreamSink`] the receiver. State is per tap: the
//! same connection at two taps is two connections.

pub mod sink;
mod position;
mod held;
mod half;
pub mod attempt;
pub mod farewell;
mod connection;
pub mod streams;
