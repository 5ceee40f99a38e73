//! Whether the output still has a reader.

use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Whether the terminal of `output` has gone, or the reader of its pipe.
pub(super) fn is_hung_up(output: impl AsFd) -> bool {
    // POLLERR and POLLHUP are reported without being requested.
    let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
    let mut polled = [PollFd::new(output.as_fd(), PollFlags::empty())];
    poll(&mut polled, PollTimeout::ZERO).is_ok()
        && polled.iter().filter_map(PollFd::revents).any(|found| found.intersects(gone))
}
