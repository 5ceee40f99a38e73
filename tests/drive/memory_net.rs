//! A network of threads: links are queues, with random delays wherever a real network may delay.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use railscope_drive::Result;
use railscope_drive::clock::{Deadline, wall_ns};
use railscope_drive::collective::slicing::BUFFER_BYTES;
use railscope_drive::net::{
    ChannelLinks, Finished, LinkFacts, LinkSpec, Net, NetHandle, ReceiveLink, Request, SendLink,
};
use railscope_drive::tcp::Lookout;

/// A link: channel, sender, receiver.
pub type Key = (u32, u32, u32);

/// A message that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub bytes: usize,
    /// Its offset in the send buffer.
    pub offset: usize,
}

/// State that all ranks share.
#[derive(Clone, Default)]
pub struct Fabric(Arc<(Mutex<BTreeMap<Key, Wire>>, Condvar)>);

/// One link.
#[derive(Default)]
struct Wire {
    /// Sizes of offered receive buffers that are not used yet.
    offered: VecDeque<usize>,
    arrived: VecDeque<Vec<u8>>,
    messages: Vec<Sent>,
}

/// The network as one rank sees it.
pub struct MemoryNet {
    fabric: Fabric,
    chance: fastrand::Rng,
    senders: Vec<(LinkSpec, Vec<u8>)>,
    receivers: Vec<(LinkSpec, Vec<u8>)>,
    facts: LinkFacts,
    requests: BTreeMap<u64, Pending>,
    next_request: u64,
}

enum Pending {
    Sent(Finished),
    Awaited { link: usize, offset: usize },
}

impl Fabric {
    /// The messages sent over each link, in order.
    pub fn messages(&self) -> BTreeMap<Key, Vec<Sent>> {
        let wires = self.0.0.lock().unwrap();
        wires.iter().map(|(&key, wire)| (key, wire.messages.clone())).collect()
    }
}

impl MemoryNet {
    pub fn new(fabric: &Fabric, seed: u64) -> Self {
        Self {
            fabric: fabric.clone(),
            chance: fastrand::Rng::with_seed(seed),
            senders: Vec::new(),
            receivers: Vec::new(),
            facts: LinkFacts::default(),
            requests: BTreeMap::new(),
            next_request: 0,
        }
    }

    /// Makes a rank's links of an ascending ring, on all channels.
    pub fn ring(&mut self, rank: u32, ranks: u32, channels: u32) -> Vec<ChannelLinks> {
        let (previous, next) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
        let links = (0..channels).map(|channel| {
            let receive = LinkSpec { channel, sender: previous, receiver: rank };
            let send = LinkSpec { channel, sender: rank, receiver: next };
            let (receive, handle) = self.listen(&receive).unwrap();
            ChannelLinks { channel, send: self.connect(&send, &handle).unwrap(), receive }
        });
        links.collect()
    }

    fn request(&mut self, pending: Pending) -> Request {
        self.next_request += 1;
        self.requests.insert(self.next_request, pending);
        Request(self.next_request)
    }
}

fn key(link: &LinkSpec) -> Key {
    (link.channel, link.sender, link.receiver)
}

impl Net for MemoryNet {
    fn name(&self) -> &'static str {
        "Memory"
    }

    fn listen(&mut self, link: &LinkSpec) -> Result<(ReceiveLink, NetHandle)> {
        self.receivers.push((*link, vec![0; BUFFER_BYTES]));
        Ok((ReceiveLink(self.receivers.len() - 1), [0; 128]))
    }

    fn connect(&mut self, link: &LinkSpec, _handle: &NetHandle) -> Result<SendLink> {
        self.senders.push((*link, vec![0; BUFFER_BYTES]));
        Ok(SendLink(self.senders.len() - 1))
    }

    fn establish(&mut self, _lookout: &Lookout, _deadline: Deadline) -> Result<()> {
        Ok(())
    }

    fn sender_facts(&self, _link: SendLink) -> &LinkFacts {
        &self.facts
    }

    fn receiver_facts(&self, _link: ReceiveLink) -> &LinkFacts {
        &self.facts
    }

    fn send_buffer(&mut self, link: SendLink) -> &mut [u8] {
        &mut self.senders[link.0].1
    }

    fn receive_buffer(&self, link: ReceiveLink) -> &[u8] {
        &self.receivers[link.0].1
    }

    fn post_receive(
        &mut self,
        link: ReceiveLink,
        offset: usize,
        capacity: usize,
    ) -> Result<Request> {
        assert!(offset + capacity <= BUFFER_BYTES);
        let mut wires = self.fabric.0.0.lock().unwrap();
        wires.entry(key(&self.receivers[link.0].0)).or_default().offered.push_back(capacity);
        self.fabric.0.1.notify_all();
        drop(wires);
        Ok(self.request(Pending::Awaited { link: link.0, offset }))
    }

    fn post_send(
        &mut self,
        link: SendLink,
        offset: usize,
        bytes: usize,
    ) -> Result<Option<Request>> {
        if self.chance.u8(0..4) == 0 {
            return Ok(None);
        }
        let (spec, buffer) = &self.senders[link.0];
        let mut wires = self.fabric.0.0.lock().unwrap();
        let wire = wires.entry(key(spec)).or_default();
        let Some(capacity) = wire.offered.pop_front() else { return Ok(None) };
        assert!(bytes <= capacity, "{bytes} bytes into a buffer of {capacity}");
        wire.arrived.push_back(buffer[offset..offset + bytes].to_vec());
        wire.messages.push(Sent { bytes, offset });
        self.fabric.0.1.notify_all();
        drop(wires);
        let sent = Finished { bytes, first_byte_ns: Some(wall_ns()), last_byte_ns: wall_ns() };
        Ok(Some(self.request(Pending::Sent(sent))))
    }

    fn test(&mut self, request: Request) -> Result<Option<Finished>> {
        if self.chance.u8(0..4) == 0 {
            return Ok(None);
        }
        let finished = match self.requests[&request.0] {
            Pending::Sent(finished) => finished,
            Pending::Awaited { link, offset } => {
                let (spec, buffer) = &mut self.receivers[link];
                let mut wires = self.fabric.0.0.lock().unwrap();
                let wire = wires.entry(key(spec)).or_default();
                let Some(message) = wire.arrived.pop_front() else { return Ok(None) };
                buffer[offset..offset + message.len()].copy_from_slice(&message);
                Finished { bytes: message.len(), first_byte_ns: None, last_byte_ns: wall_ns() }
            }
        };
        self.requests.remove(&request.0);
        Ok(Some(finished))
    }

    fn progress(&mut self, wait: Duration) -> Result<()> {
        let wires = self.fabric.0.0.lock().unwrap();
        drop(self.fabric.0.1.wait_timeout(wires, wait.min(Duration::from_millis(1))).unwrap());
        Ok(())
    }
}
