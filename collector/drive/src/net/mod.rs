//! Messages between ranks, moved as NCCL's network plugins move them.
//!
//! A link is one direction of one channel between two ranks. The receiver offers buffers, the
//! sender fills them: NET/IB with a clear-to-send written into the sender's memory and a write with
//! immediate, NET/Socket with TCP.

mod dialogue;
pub mod ib;
pub mod socket;

use std::net::SocketAddr;
use std::time::Duration;

use super::Result;
use super::clock::Deadline;
use super::tcp::Lookout;

/// A network plugin and one rank's links.
pub trait Net {
    /// The name in NCCL's logs: `IB`, `Socket`.
    fn name(&self) -> &'static str;

    /// Creates the receiving end of a link. The bootstrap carries the handle to the sender
    /// (`ncclNetHandle_t`, first bytes of a receive entry of the transport set-up).
    ///
    /// # Errors
    /// No memory, queue pairs or listening port are available.
    fn listen(&mut self, link: &LinkSpec) -> Result<(ReceiveLink, NetHandle)>;

    /// Creates the sending end of the link that `handle` belongs to.
    ///
    /// # Errors
    /// The handle has no reachable address.
    fn connect(&mut self, link: &LinkSpec, handle: &NetHandle) -> Result<SendLink>;

    /// Connects every link created so far, both ends at once, so that no order of ranks can
    /// deadlock. Meanwhile the connections of `lookout` are watched.
    ///
    /// # Errors
    /// A peer does not connect, goes away or speaks another protocol.
    fn establish(&mut self, lookout: &Lookout, deadline: Deadline) -> Result<()>;

    /// The sending end, for truth and log.
    fn sender_facts(&self, link: SendLink) -> &LinkFacts;

    /// The receiving end, for truth and log.
    fn receiver_facts(&self, link: ReceiveLink) -> &LinkFacts;

    /// The memory to send messages from: `NCCL_BUFFSIZE` bytes.
    fn send_buffer(&mut self, link: SendLink) -> &mut [u8];

    /// The memory that messages arrive in: `NCCL_BUFFSIZE` bytes. Read only what [`Net::test`] has
    /// reported.
    fn receive_buffer(&self, link: ReceiveLink) -> &[u8];

    /// Offers a buffer for the next message.
    ///
    /// # Errors
    /// The link is broken.
    fn post_receive(
        &mut self,
        link: ReceiveLink,
        offset: usize,
        capacity: usize,
    ) -> Result<Request>;

    /// Sends the next message into the buffer that the receiver offered; `None` if it has offered
    /// none.
    ///
    /// # Errors
    /// The link is broken.
    fn post_send(&mut self, link: SendLink, offset: usize, bytes: usize)
    -> Result<Option<Request>>;

    /// The outcome of a request, which is then forgotten; `None` while it is pending.
    ///
    /// # Errors
    /// It failed.
    fn test(&mut self, request: Request) -> Result<Option<Finished>>;

    /// Lets the network progress on all links, and waits at most `wait` for an event.
    ///
    /// # Errors
    /// The whole network failed.
    fn progress(&mut self, wait: Duration) -> Result<()>;
}

/// Identifies a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// Channel number, from 0.
    pub channel: u32,
    /// The sending rank.
    pub sender: u32,
    /// The receiving rank.
    pub receiver: u32,
}

/// The two links of a rank on one channel of its ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelLinks {
    /// Channel number, from 0.
    pub channel: u32,
    /// To the next rank.
    pub send: SendLink,
    /// From the previous rank.
    pub receive: ReceiveLink,
}

/// A receiving end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReceiveLink(pub usize);

/// A sending end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SendLink(pub usize);

/// A pending message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request(pub u64);

/// What a listener passes to its sender: `NCCL_NET_HANDLE_MAXSIZE` bytes.
pub type NetHandle = [u8; 128];

/// A completed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Size in bytes.
    pub bytes: usize,
    /// When its first byte was sent or received, in ns of `CLOCK_REALTIME`. Networks that do not
    /// know give the time it was posted (sent) or `None` (received).
    pub first_byte_ns: Option<u64>,
    /// When its last byte was acknowledged (sent) or received.
    pub last_byte_ns: u64,
}

/// One end of a link, for the records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkFacts {
    /// Address of the sender's end of the out-of-band connection.
    pub connector: Option<SocketAddr>,
    /// Address of the receiver's end of the out-of-band connection.
    pub listener: Option<SocketAddr>,
    /// This end's queue pairs, in order; empty without RDMA.
    pub qpns: Vec<u32>,
    /// The other end's queue pairs, in the same order.
    pub peer_qpns: Vec<u32>,
    /// This end's adapter.
    pub device: String,
    /// Address and key of the sender's clear-to-send queue.
    pub fifo: Option<(u64, u32)>,
}
