//! How many bytes a sender keeps in flight: real adapters have link-level flow control, a UDP socket
//! has a buffer that overflows.

/// What a queue pair begins with.
const START: usize = 128 << 10;
/// It never shrinks below.
const SMALLEST: usize = 32 << 10;
/// It never grows beyond. Cost: rings of four on two cores were slower with 512 KiB and more, which
/// leave the processor's cache.
const LARGEST: usize = 256 << 10;

/// Bytes that one queue pair may have in flight.
#[derive(Clone, Copy, Debug)]
pub struct Window(usize);

impl Default for Window {
    fn default() -> Self {
        Self(START)
    }
}

impl Window {
    /// How many.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.0
    }

    /// More was acknowledged.
    pub fn on_acknowledged(&mut self, bytes: usize) {
        self.0 = (self.0 + bytes / 8).min(LARGEST);
    }

    /// Something was lost.
    pub fn on_loss(&mut self) {
        self.0 = (self.0 / 2).max(SMALLEST);
    }
}

/// Bytes that all queue pairs of an adapter together may have in flight to one peer: three quarters
/// of what the peer's socket buffer holds, taken to be as large as one's own is.
///
/// Linux counts a datagram as the power of two that its memory came from, and its descriptor.
#[must_use]
pub fn flight_limit(socket_buffer: usize, mtu: usize) -> usize {
    let counted = (mtu + 512).next_power_of_two() + 512;
    let packets = socket_buffer / counted * 3 / 4;
    (packets * mtu).clamp(mtu, 2 * LARGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_fits_the_buffer() {
        // net.core.rmem_max of a Linux nobody has tuned, doubled as the kernel does.
        assert_eq!(flight_limit(425_984, 4096), 36 * 4096);
        assert_eq!(flight_limit(32 << 20, 4096), 512 << 10);
        assert_eq!(flight_limit(0, 1024), 1024);
    }
}
