//! Egress queues of a switch, as the packets that were drawn found them.

/// Identifies an egress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueKey {
    /// ifIndex of the port; `None` if the sample does not name one.
    pub interface: Option<u32>,
    /// Number of its queue.
    pub queue: u32,
}

/// A figure that some of the drawn packets have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// Packets that have it.
    pub samples: u64,
    /// Its sum.
    pub sum: u64,
    /// The sum of its squares.
    pub squares: u128,
    /// The largest.
    pub max: u32,
}

impl Moments {
    pub(super) fn add(&mut self, value: u32) {
        self.samples += 1;
        self.sum = self.sum.saturating_add(value.into());
        self.squares = self.squares.saturating_add(u128::from(value).pow(2));
        self.max = self.max.max(value);
    }
}

/// What the packets to a queue found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// Packets that were drawn.
    pub samples: u64,
    /// Bytes that were in the queue before the packet.
    pub depth_bytes: Moments,
    /// Nanoseconds that the packet was in the switch.
    pub delay_ns: Moments,
}
