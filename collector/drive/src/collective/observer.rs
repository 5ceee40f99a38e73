//! Who watches a running collective.

use crate::Result;
use crate::truth::RingStep;

/// Observes a running collective.
pub trait Observer {
    /// A chunk was received at one end of a link, or acknowledged at the other.
    fn ring_step(&mut self, ring_step: RingStep);

    /// Called about every 50 ms: the place to notice that a peer has gone or that the user wants to
    /// stop.
    ///
    /// # Errors
    /// Ends the collective.
    fn pulse(&mut self) -> Result<()>;
}
