//! Every threshold by which the time of a collective is attributed.

/// Data that follows its CTS within this multiple of the connection's quickest answer waited for
/// nothing else: the quickest is a round trip and both proxies, and twice that allows for jitter.
pub(super) const PROMPT_ANSWERS: u64 = 2;
/// Ranks are compared only if more than one in this many ranks that send over the network was
/// measured. With fewer, the late rank may be on a host without a capture.
pub(super) const MEASURED_ONE_IN: usize = 2;
