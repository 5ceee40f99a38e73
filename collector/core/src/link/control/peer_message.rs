//! Messages between two ranks over the bootstrap: the set-up of transports shows which listener
//! leads to which rank.

use super::ends::{Ends, Progress};
use super::facts::Setup;
use crate::decode::nccl::layout::{LAYOUTS, narrow};
use crate::decode::nccl::net_handle;
use crate::decode::nccl::peer_message::{PeerMessageLayout, Preamble, SetupTag};
use crate::model::witness::Witness;

/// A connection that carries one message.
#[derive(Clone, Debug)]
pub(super) struct PeerMessage {
    layout: &'static PeerMessageLayout,
    preamble: Vec<u8>,
    setup: Option<Setup>,
}

impl PeerMessage {
    /// A message whose first frame has `len` bytes; `None` if no message has that length.
    pub(super) fn begins_with(len: usize) -> Option<Self> {
        let layout = narrow(&LAYOUTS, |layout| layout.peer_message.preamble_len == len).first()?;
        Some(Self { layout: layout.peer_message, preamble: Vec::new(), setup: None })
    }

    pub(super) fn frame(
        &mut self,
        frame: &[u8],
        magic: u64,
        ends: &Ends,
        witness: Witness,
    ) -> Progress {
        let Some(preamble) = self.preamble.first_chunk::<8>() else {
            if frame.len() != self.layout.preamble_len {
                return Progress::Malformed;
            }
            self.preamble.extend_from_slice(frame);
            return Progress::More;
        };
        let Some(preamble) = Preamble::decode(preamble) else { return Progress::Malformed };
        let entries = frame.chunks_exact(self.layout.entry_len);
        let Some(tag) = SetupTag::decode(preamble.tag) else { return Progress::Done };
        if tag.is_closing || frame.is_empty() || !entries.remainder().is_empty() {
            return Progress::Done;
        }
        self.setup = Some(Setup {
            magic: Some(magic),
            to: ends.listener,
            from_rank: preamble.rank,
            distance: tag.distance,
            graph: tag.graph,
            listeners: entries.map(net_handle::listener).collect(),
            witness,
        });
        Progress::Done
    }

    pub(super) const fn setup(&self) -> Option<&Setup> {
        self.setup.as_ref()
    }

    pub(super) fn kept(&self) -> usize {
        let listeners = self.setup.as_ref().map_or(0, |setup| setup.listeners.capacity());
        self.preamble.capacity() + listeners * size_of::<Option<std::net::SocketAddr>>()
    }
}
