//! Every threshold by which the time of a collective is attributed.

/// Data that follows its CTS within this many of the connection's quickest answers waited for
/// nothing else: the quickest is a round trip and both proxies; twice that leaves room for jitter.
pub(super) const PROMPT_ANSWERS: u64 = 2;
/// Ranks are compared only if more than one in this many of those that send over the network were
/// measured. With fewer, the late rank may be on a host without a capture.
pub(super) const MEASURED_ONE_IN: usize = 2;
