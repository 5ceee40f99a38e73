//! How many bytes a sender keeps in flight: real adapters have link-level flow control, a UDP
//! socket has a buffer that overflows.

/// Initial window.
const START: usize = 128 << 10;
/// Smallest window.
const SMALLEST: usize = 32 << 10;
/// Largest window. Rings of four on two cores were slower with 512 KiB and more, which do not fit
/// into the processor's cache.
const LARGEST: usize = 256 << 10;

/// The bytes that one queue pair may have in flight.
#[derive(Clone, Copy, Debug)]
pub struct Window(usize);

impl Default for Window {
    fn default() -> Self {
        Self(START)
    }
}

impl Window {
    /// The window in bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.0
    }

    /// Grows the window after an acknowledgement.
    pub fn on_acknowledged(&mut self, bytes: usize) {
        self.0 = (self.0 + bytes / 8).min(LARGEST);
    }

    /// Shrinks the window after a loss.
    pub fn on_loss(&mut self) {
        self.0 = (self.0 / 2).max(SMALLEST);
    }
}

/// The bytes that all queue pairs of an adapter may have in flight to one peer: three quarters of
/// the peer's socket buffer, assumed to be as large as this one.
///
/// Linux charges a datagram the power of two that its memory was allocated from, plus its
/// descriptor.
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
        // The default net.core.rmem_max of Linux, doubled as the kernel does.
        assert_eq!(flight_limit(425_984, 4096), 36 * 4096);
        assert_eq!(flight_limit(32 << 20, 4096), 512 << 10);
        assert_eq!(flight_limit(0, 1024), 1024);
    }
}
