//! What makes a recording save its ring.
//!
//! ```text
//! finding            finding:critical   finding:loss   hang   pause   step:2x
//! log:FILE:REGEX     end                fail
//! ```

mod judge;
mod log;
mod spec;

pub use self::judge::Judge;
pub use self::log::LogWatch;
pub use self::spec::{Condition, Trigger};
