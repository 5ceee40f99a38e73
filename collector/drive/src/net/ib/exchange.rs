//! How the two ends of a link exchange their queue pairs over TCP.
//!
//! The sender connects and greets. In 2.27.7, both send a list of devices. Then both send metadata,
//! the sender first, and the sender confirms that it is ready. The connection stays open, idle.

use std::net::{IpAddr, SocketAddr, TcpListener};

use super::super::dialogue::Dialogue;
use super::super::{LinkFacts, LinkSpec};
use super::local::Local;
use super::receiver::Receiver;
use super::sender::Sender;
use crate::clock::Deadline;
use crate::job::IbSettings;
use crate::rdma::{Rdma, Region, Remote};
use crate::release::Release;
use crate::tcp::{self, Lookout};
use crate::wire::greeting::SocketType;
use crate::wire::ib_metadata::{self, IbDevice, IbMetadata, QueuePair};
use crate::{DriveError, Result};

/// The exchange of one link, as one end sees it.
#[derive(Debug)]
pub(super) struct Exchange {
    link: LinkSpec,
    end: End,
    dialogue: Option<Dialogue>,
    stage: Stage,
}

#[derive(Debug)]
enum End {
    Sender { at: usize, listener: SocketAddr },
    Receiver { at: usize, listener: TcpListener },
}

/// What the exchange waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Connection,
    Greeting,
    DeviceList,
    Metadata,
    Ready,
    /// For sent data to leave.
    Sent,
    Nothing,
}

impl Exchange {
    /// The exchange of sender number `at` with the receiver that listens there.
    pub(super) fn of_sender(at: usize, link: LinkSpec, listener: SocketAddr) -> Self {
        let end = End::Sender { at, listener };
        Self { link, end, dialogue: None, stage: Stage::Connection }
    }

    /// The exchange of receiver number `at` with the sender that connects.
    pub(super) fn of_receiver(at: usize, link: LinkSpec, listener: TcpListener) -> Self {
        let end = End::Receiver { at, listener };
        Self { link, end, dialogue: None, stage: Stage::Connection }
    }

    fn peer(&self) -> u32 {
        match self.end {
            End::Sender { .. } => self.link.receiver,
            End::Receiver { .. } => self.link.sender,
        }
    }

    /// What the exchange waits for, in words to be followed by "did not come".
    pub(super) fn waits_for(&self) -> String {
        let (peer, channel) = (self.peer(), self.link.channel);
        let what = match self.stage {
            Stage::Connection => "connection",
            Stage::Greeting => "greeting",
            Stage::DeviceList => "list of devices",
            Stage::Metadata => "queue pairs",
            Stage::Ready | Stage::Sent | Stage::Nothing => "word that it is ready",
        };
        format!("rank {peer}'s {what} for channel {channel}")
    }

    fn refuse(&self, what: String) -> DriveError {
        let channel = self.link.channel;
        let what = format!("{what}, on the NET/IB connection of channel {channel}");
        DriveError::Protocol { peer: format!("rank {}", self.peer()), what }
    }

    fn lost(&self) -> DriveError {
        let during = format!("waiting for {}", self.waits_for());
        DriveError::PeerLost { peer: format!("rank {}", self.peer()), during }
    }

    /// The sender connects and greets without waiting for the receiver to accept.
    pub(super) fn start(
        &mut self,
        from: IpAddr,
        release: Release,
        lookout: &Lookout,
        deadline: Deadline,
    ) -> Result<()> {
        let End::Sender { listener, .. } = self.end else { return Ok(()) };
        let LinkSpec { receiver, channel, .. } = self.link;
        let what = || format!("rank {receiver}'s NET/IB listener of channel {channel}");
        let stream = tcp::connect(from, listener, lookout, deadline, what)?;
        let mut dialogue = Dialogue::new(stream);
        dialogue.greet(SocketType::NetIb);
        self.stage = Stage::Metadata;
        if release == Release::V2_27_7 {
            dialogue.say(ib_metadata::device_list(1));
            self.stage = Stage::DeviceList;
        }
        self.dialogue = Some(dialogue);
        Ok(())
    }

    /// Continues as far as the peer allows; returns whether the exchange is complete.
    pub(super) fn advance<R: Rdma>(
        &mut self,
        local: &mut Local<R>,
        senders: &mut [Sender],
        receivers: &mut [Receiver],
    ) -> Result<bool> {
        match self.end {
            End::Sender { at, .. } => self.advance_sender(local, &mut senders[at]),
            End::Receiver { at, .. } => self.advance_receiver(local, &mut receivers[at]),
        }
    }

    fn advance_sender<R: Rdma>(
        &mut self,
        local: &mut Local<R>,
        sender: &mut Sender,
    ) -> Result<bool> {
        // 2.21.5 sends its metadata with the greeting.
        if self.stage == Stage::Metadata && sender.facts.qpns.is_empty() {
            self.describe_sender(local, sender)?;
        }
        if self.stage == Stage::DeviceList {
            let Some(list) = self.hear(ib_metadata::DEVICE_LIST_BYTES)? else { return Ok(false) };
            self.check_devices(&list)?;
            self.describe_sender(local, sender)?;
            self.stage = Stage::Metadata;
        }
        if self.stage == Stage::Metadata {
            let Some(theirs) = self.hear_metadata(local)? else { return Ok(false) };
            let (mtu, traffic_class) = (self.mtu(local, &theirs)?, local.settings.traffic_class);
            connect(local, &mut sender.facts, &theirs, mtu, traffic_class)?;
            self.say(1_u32.to_le_bytes());
            self.stage = Stage::Sent;
        }
        if self.stage == Stage::Sent && self.pump()? {
            let stream = self.dialogue.take().map(Dialogue::into_stream);
            sender.facts.connector = stream.as_ref().and_then(|stream| stream.local_addr().ok());
            sender.facts.listener = stream.as_ref().and_then(|stream| stream.peer_addr().ok());
            sender.exchange = stream;
            self.stage = Stage::Nothing;
        }
        Ok(self.stage == Stage::Nothing)
    }

    fn describe_sender<R: Rdma>(
        &mut self,
        local: &mut Local<R>,
        sender: &mut Sender,
    ) -> Result<()> {
        create_queue_pairs(local, &mut sender.facts)?;
        let mtu = local.rdma.device().mtu;
        let traffic_class = local.settings.traffic_class;
        self.say(describe(local, &sender.facts, sender.fifo, mtu, traffic_class));
        Ok(())
    }

    fn advance_receiver<R: Rdma>(
        &mut self,
        local: &mut Local<R>,
        receiver: &mut Receiver,
    ) -> Result<bool> {
        if self.stage == Stage::Connection {
            let End::Receiver { listener, .. } = &self.end else { return Ok(true) };
            let accepted = Dialogue::accept(listener).map_err(DriveError::io("accept"))?;
            let Some(dialogue) = accepted else { return Ok(false) };
            receiver.facts.connector = dialogue.stream().peer_addr().ok();
            receiver.facts.listener = dialogue.stream().local_addr().ok();
            self.dialogue = Some(dialogue);
            self.stage = Stage::Greeting;
        }
        if self.stage == Stage::Greeting {
            let Some(dialogue) = &mut self.dialogue else { return Ok(false) };
            self.stage = match dialogue.is_greeted(SocketType::NetIb) {
                Ok(None) => return Ok(false),
                Ok(Some(true)) if local.release == Release::V2_21_5 => Stage::Metadata,
                Ok(Some(true)) => Stage::DeviceList,
                // As in NCCL, a client that does not greet like a rank is ignored.
                Ok(Some(false)) | Err(_) => Stage::Connection,
            };
            if self.stage == Stage::Connection {
                self.dialogue = None;
                return Ok(false);
            }
        }
        if self.stage == Stage::DeviceList {
            let Some(list) = self.hear(ib_metadata::DEVICE_LIST_BYTES)? else { return Ok(false) };
            self.check_devices(&list)?;
            self.say(ib_metadata::device_list(1));
            self.stage = Stage::Metadata;
        }
        if self.stage == Stage::Metadata {
            let Some(theirs) = self.hear_metadata(local)? else { return Ok(false) };
            // From 2.26 on, the sender chooses the traffic class of both ends.
            let traffic_class = match local.release {
                Release::V2_21_5 => local.settings.traffic_class,
                Release::V2_27_7 => u8::try_from(theirs.traffic_class).unwrap_or_default(),
            };
            create_queue_pairs(local, &mut receiver.facts)?;
            let mtu = self.mtu(local, &theirs)?;
            connect(local, &mut receiver.facts, &theirs, mtu, traffic_class)?;
            receiver.facts.fifo = theirs.devices.first().map(|peer| (theirs.address, peer.rkey));
            let mtu = match local.release {
                Release::V2_21_5 => mtu,
                Release::V2_27_7 => local.rdma.device().mtu,
            };
            self.say(describe(local, &receiver.facts, receiver.sizes, mtu, traffic_class));
            self.stage = Stage::Ready;
        }
        if self.stage == Stage::Ready {
            let Some(ready) = self.hear(4)? else { return Ok(false) };
            if ready != 1_u32.to_le_bytes() {
                return Err(self.refuse(format!("{ready:02x?} where 1 says that it is ready")));
            }
            receiver.exchange = self.dialogue.take().map(Dialogue::into_stream);
            self.stage = Stage::Nothing;
        }
        Ok(self.stage == Stage::Nothing)
    }

    fn say(&mut self, bytes: impl Into<Vec<u8>>) {
        if let Some(dialogue) = &mut self.dialogue {
            dialogue.say(bytes);
        }
    }

    fn pump(&mut self) -> Result<bool> {
        let Some(dialogue) = &mut self.dialogue else { return Ok(true) };
        dialogue.pump().map_err(|_| self.lost())
    }

    fn hear(&mut self, len: usize) -> Result<Option<Vec<u8>>> {
        self.pump()?;
        let Some(dialogue) = &mut self.dialogue else { return Ok(None) };
        dialogue.hear(len).map_err(|_| self.lost())
    }

    fn check_devices(&self, list: &[u8]) -> Result<()> {
        match ib_metadata::parse_device_list(list) {
            Ok(1) => Ok(()),
            Ok(devices) => Err(self.refuse(format!("a list of {devices} devices instead of 1"))),
            Err(what) => Err(self.refuse(what)),
        }
    }

    /// The path MTU that both ends support, unless a fault forces another one.
    fn mtu<R: Rdma>(&self, local: &Local<R>, theirs: &IbMetadata) -> Result<u16> {
        let code = theirs.devices.first().map_or(0, |device| device.mtu);
        let mtu = ib_metadata::mtu_bytes(code).map_err(|what| self.refuse(what))?;
        Ok(local.settings.forced_mtu.unwrap_or_else(|| mtu.min(local.rdma.device().mtu)))
    }

    fn hear_metadata<R: Rdma>(&mut self, local: &Local<R>) -> Result<Option<IbMetadata>> {
        let Some(bytes) = self.hear(ib_metadata::len(local.release))? else { return Ok(None) };
        let queue_pairs = local.settings.queue_pairs.max(1) as usize;
        let theirs = IbMetadata::parse(&bytes, queue_pairs, local.release);
        let theirs = theirs.map_err(|what| self.refuse(what))?;
        match &theirs.devices[..] {
            [device] if device.link_layer == ib_metadata::ETHERNET => Ok(Some(theirs)),
            [_] => Err(self.refuse("a link layer that is not Ethernet".into())),
            devices => Err(self.refuse(format!("metadata of {} devices", devices.len()))),
        }
    }
}

fn create_queue_pairs<R: Rdma>(local: &mut Local<R>, facts: &mut LinkFacts) -> Result<()> {
    for _ in 0..local.settings.queue_pairs.max(1) {
        facts.qpns.push(local.rdma.create_queue_pair()?);
    }
    Ok(())
}

/// Connects this end's queue pairs, each to the peer's with the same number.
fn connect<R: Rdma>(
    local: &mut Local<R>,
    facts: &mut LinkFacts,
    theirs: &IbMetadata,
    mtu: u16,
    traffic_class: u8,
) -> Result<()> {
    facts.peer_qpns = theirs.queue_pairs.iter().map(|pair| pair.qpn).collect();
    let gid = theirs.devices.first().map_or([0; 16], |device| device.gid);
    let IbSettings { timeout, retries, .. } = local.settings;
    for (&qpn, &peer) in facts.qpns.iter().zip(&facts.peer_qpns) {
        let remote = Remote { qpn: peer, gid, mtu, traffic_class, timeout, retries };
        local.rdma.connect(qpn, &remote)?;
    }
    Ok(())
}

/// This end's metadata. `memory` is what the peer may write to besides the buffer.
fn describe<R: Rdma>(
    local: &Local<R>,
    facts: &LinkFacts,
    memory: Region,
    mtu: u16,
    traffic_class: u8,
) -> Vec<u8> {
    let device = local.rdma.device();
    let metadata = IbMetadata {
        queue_pairs: facts.qpns.iter().map(|&qpn| QueuePair { qpn, device: 0 }).collect(),
        devices: vec![IbDevice {
            lid: 0,
            port: device.port,
            mtu: ib_metadata::mtu_code(mtu),
            link_layer: ib_metadata::ETHERNET,
            gid: device.gid,
            rkey: memory.rkey,
        }],
        name: device.name.clone(),
        address: memory.address,
        traffic_class: traffic_class.into(),
        service_level: 0,
    };
    metadata.encode(local.release)
}
