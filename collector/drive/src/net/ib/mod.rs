//! NET/IB: messages as RDMA writes with immediate, buffer offers as clear-to-sends written into the
//! sender's memory.
//!
//! `exchange` pairs queue pairs over TCP, `receiver` and `sender` are the two ends of a link,
//! `requests` tracks outstanding work.
//!
//! Sources: NCCL 2.21.5 and 2.27.7, `src/transport/net_ib.cc`.

mod exchange;
mod local;
mod receiver;
mod requests;
mod sender;

use std::net::IpAddr;
use std::time::Duration;

use self::exchange::Exchange;
use self::local::Local;
use self::receiver::Receiver;
use self::requests::Requests;
use self::sender::Sender;
use super::{Finished, LinkFacts, LinkSpec, Net, NetHandle, ReceiveLink, Request, SendLink};
use crate::clock::Deadline;
use crate::job::IbSettings;
use crate::rdma::{Completion, Rdma};
use crate::release::Release;
use crate::tcp::{self, Lookout};
use crate::wire::ib_handle;
use crate::{DriveError, Result};

/// How long to wait for the adapter while links are created: peers may be ahead and already send.
const GLANCE: Duration = Duration::from_millis(1);

/// NET/IB on one adapter.
#[derive(Debug)]
pub struct Ib<R> {
    local: Local<R>,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    exchanges: Vec<Exchange>,
    requests: Requests,
    completions: Vec<Completion>,
}

impl<R: Rdma> Ib<R> {
    /// Creates links on this adapter; they exchange queue pairs over TCP from `address`.
    pub fn new(rdma: R, release: Release, settings: IbSettings, address: IpAddr) -> Self {
        let local = Local { rdma, release, settings, address };
        Self {
            local,
            senders: Vec::new(),
            receivers: Vec::new(),
            exchanges: Vec::new(),
            requests: Requests::default(),
            completions: Vec::new(),
        }
    }

    /// The adapter that all connections share.
    pub fn adapter(&self) -> &R {
        &self.local.rdma
    }

    /// The adapter, for functions that only some adapters have.
    pub fn adapter_mut(&mut self) -> &mut R {
        &mut self.local.rdma
    }
}

impl<R: Rdma> Net for Ib<R> {
    fn name(&self) -> &'static str {
        "IB"
    }

    fn listen(&mut self, link: &LinkSpec) -> Result<(ReceiveLink, NetHandle)> {
        let listener = tcp::listen(self.local.address)?;
        let handle = ib_handle::encode(tcp::address_of(&listener)?);
        let at = self.receivers.len();
        self.receivers.push(Receiver::new(&mut self.local.rdma, *link)?);
        self.exchanges.push(Exchange::of_receiver(at, *link, listener));
        Ok((ReceiveLink(at), handle))
    }

    fn connect(&mut self, link: &LinkSpec, handle: &NetHandle) -> Result<SendLink> {
        let peer = || format!("rank {}", link.receiver);
        let listener =
            ib_handle::parse(handle).map_err(|what| DriveError::Protocol { peer: peer(), what })?;
        let at = self.senders.len();
        self.senders.push(Sender::new(&mut self.local.rdma, *link)?);
        self.exchanges.push(Exchange::of_sender(at, *link, listener));
        Ok(SendLink(at))
    }

    fn establish(&mut self, lookout: &Lookout, deadline: Deadline) -> Result<()> {
        for exchange in &mut self.exchanges {
            exchange.start(self.local.address, self.local.release, lookout, deadline)?;
        }
        loop {
            let mut unfinished = None;
            for exchange in &mut self.exchanges {
                let (senders, receivers) = (&mut self.senders, &mut self.receivers);
                if !exchange.advance(&mut self.local, senders, receivers)? {
                    unfinished = Some(&*exchange);
                }
            }
            let Some(unfinished) = unfinished else { break };
            deadline.check(|| unfinished.waits_for())?;
            lookout.check(|| format!("waiting for {}", unfinished.waits_for()))?;
            self.progress(GLANCE)?;
        }
        self.exchanges.clear();
        Ok(())
    }

    fn sender_facts(&self, link: SendLink) -> &LinkFacts {
        &self.senders[link.0].facts
    }

    fn receiver_facts(&self, link: ReceiveLink) -> &LinkFacts {
        &self.receivers[link.0].facts
    }

    fn send_buffer(&mut self, link: SendLink) -> &mut [u8] {
        self.local.rdma.memory_mut(self.senders[link.0].buffer.id)
    }

    fn receive_buffer(&self, link: ReceiveLink) -> &[u8] {
        self.local.rdma.memory(self.receivers[link.0].buffer.id)
    }

    fn post_receive(
        &mut self,
        link: ReceiveLink,
        offset: usize,
        capacity: usize,
    ) -> Result<Request> {
        self.requests.check()?;
        let receiver = &mut self.receivers[link.0];
        let request = self.requests.receive(receiver.spec);
        receiver.post(&mut self.local, request, offset, capacity)?;
        Ok(request)
    }

    fn post_send(
        &mut self,
        link: SendLink,
        offset: usize,
        bytes: usize,
    ) -> Result<Option<Request>> {
        self.requests.check()?;
        let sender = &mut self.senders[link.0];
        let Some(room) = sender.room(&self.local, bytes)? else { return Ok(None) };
        let request = self.requests.send(sender.spec, bytes);
        sender.post(&mut self.local, request, room, offset, bytes)?;
        Ok(Some(request))
    }

    fn test(&mut self, request: Request) -> Result<Option<Finished>> {
        self.requests.check()?;
        Ok(self.requests.take(request))
    }

    fn progress(&mut self, wait: Duration) -> Result<()> {
        self.local.rdma.poll(&mut self.completions, wait)?;
        for completion in self.completions.drain(..) {
            self.requests.complete(completion);
        }
        self.requests.check()
    }
}
