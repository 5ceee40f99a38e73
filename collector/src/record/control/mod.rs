//! The Unix socket of a running capture: another process asks it to save its ring.
//!
//! One line of JSON each way:
//!
//! ```text
//! {"save":{"reason":"users complain","after_ms":10000}}
//! {"saved":"/captures/....pcapng","line":"saved ..."}    or    {"error":"..."}
//! ```

mod client;
mod message;
mod server;

pub use self::client::ask;
pub use self::message::{Answer, Request, SaveRequest};
pub use self::server::ControlServer;
