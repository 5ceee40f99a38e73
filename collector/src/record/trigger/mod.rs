//! Whether a trigger holds.

mod judge;
mod log;

pub use self::judge::Judge;
pub use self::log::LogWatch;
