//! Messages between ranks, as NCCL's network plugins move them.
//!
//! A link is one direction of one channel between two ranks. The receiver offers room, the sender
//! fills it: NET/IB with a clear-to-send written into the sender's memory and a write with
//! immediate, NET/Socket with TCP.

mod dialogue;
pub mod ib;
pub mod socket;

use std::net::SocketAddr;
use std::time::Duration;

use super::Result;
use super::clock::Deadline;
use super::tcp::Lookout;

/// A network plugin with the links of one rank.
pub trait Net {
    /// As NCCL's logs name it: `IB`, `Socket`.
    fn name(&self) -> &'static str;

    /// Makes the receiving end of a link. The handle goes to the sender by the bootstrap
    /// (`ncclNetHandle_t`, first bytes of a receive entry of the transport set-up).
    ///
    /// # Errors
    /// Memory, queue pairs or a listening port cannot be had.
    fn listen(&mut self, link: &LinkSpec) -> Result<(ReceiveLink, NetHandle)>;

    /// Makes the sending end of the link that `handle` belongs to.
    ///
    /// # Errors
    /// The handle names no address that can be reached.
    fn connect(&mut self, link: &LinkSpec, handle: &NetHandle) -> Result<SendLink>;

    /// Brings every link made so far to where messages can pass, both ends at once: no order of
    /// ranks can lock up. Meanwhile the connections of `lookout` are watched.
    ///
    /// # Errors
    /// A peer does not come, goes away or speaks another dialect.
    fn establish(&mut self, lookout: &Lookout, deadline: Deadline) -> Result<()>;

    /// What the truth and the log tell of a sending end.
    fn sender_facts(&self, link: SendLink) -> &LinkFacts;

    /// What the truth and the log tell of a receiving end.
    fn receiver_facts(&self, link: ReceiveLink) -> &LinkFacts;

    /// The memory that messages are sent from: `NCCL_BUFFSIZE` bytes.
    fn send_buffer(&mut self, link: SendLink) -> &mut [u8];

    /// The memory that messages arrive in: `NCCL_BUFFSIZE` bytes. Read only what [`Net::test`] says
    /// has come.
    fn receive_buffer(&self, link: ReceiveLink) -> &[u8];

    /// Offers room for the next message.
    ///
    /// # Errors
    /// The link is broken.
    fn post_receive(
        &mut self,
        link: ReceiveLink,
        offset: usize,
        capacity: usize,
    ) -> Result<Request>;

    /// Sends the next message into the room that the receiver offered; `None` while it has offered
    /// none.
    ///
    /// # Errors
    /// The link is broken.
    fn post_send(&mut self, link: SendLink, offset: usize, bytes: usize)
    -> Result<Option<Request>>;

    /// How a request ended; `None` while it has not. Forgets it then.
    ///
    /// # Errors
    /// It failed.
    fn test(&mut self, request: Request) -> Result<Option<Finished>>;

    /// Lets the network work, also for links that nobody waits for, and waits at most `wait` for
    /// something to happen.
    ///
    /// # Errors
    /// The network fails as a whole.
    fn progress(&mut self, wait: Duration) -> Result<()>;
}

/// Which link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// From 0.
    pub channel: u32,
    /// The rank that sends.
    pub sender: u32,
    /// The rank that receives.
    pub receiver: u32,
}

/// The two links of a rank on one channel of its ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelLinks {
    /// From 0.
    pub channel: u32,
    /// To the next rank.
    pub send: SendLink,
    /// From the rank before.
    pub receive: ReceiveLink,
}

/// A receiving end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReceiveLink(pub usize);

/// A sending end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SendLink(pub usize);

/// A message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request(pub u64);

/// What a listener tells the sender that shall connect: `NCCL_NET_HANDLE_MAXSIZE` bytes.
pub type NetHandle = [u8; 128];

/// A message that has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Of the message.
    pub bytes: usize,
    /// When its first byte left or came, ns of `CLOCK_REALTIME`; where the network does not tell,
    /// when it was posted (sent) or `None` (received).
    pub first_byte_ns: Option<u64>,
    /// When its last byte was acknowledged (sent) or had come (received).
    pub last_byte_ns: u64,
}

/// What is worth writing down about one end of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkFacts {
    /// Out-of-band connection, the end that connects: the sender.
    pub connector: Option<SocketAddr>,
    /// Out-of-band connection, the end that listens: the receiver.
    pub listener: Option<SocketAddr>,
    /// Of this end, in order; empty without RDMA.
    pub qpns: Vec<u32>,
    /// Of the other end, in the same order.
    pub peer_qpns: Vec<u32>,
    /// The adapter of this end.
    pub device: String,
    /// Where clear-to-sends are written: at the sender's, with its key.
    pub fifo: Option<(u64, u32)>,
}
