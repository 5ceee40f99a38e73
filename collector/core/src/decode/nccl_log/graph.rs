//! Rings, trees and the edges between ranks.

use super::words::{between, hex, leading, number, rank};

/// `Channel 00/02 : 0 1 2 3`: the ring of a channel, printed by rank 0 only. A long one is
/// truncated. 2.4 and 2.5 write `Channel 00 :`, older releases `Ring 00 :`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingOrder<'a> {
    /// Channel number, from 0.
    pub channel: u32,
    /// Total number of channels (2.6 and later).
    pub channels: Option<u32>,
    list: &'a str,
}

/// `Ring 00 : 3 -> 0 -> 1`: a rank's neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingPlace {
    /// Channel number, from 0.
    pub channel: u32,
    /// The previous rank.
    pub previous: u32,
    /// The rank that printed it.
    pub rank: u32,
    /// The next rank.
    pub next: u32,
}

/// A rank's place in the tree of a channel: `[0] 2/-1/-1->0->-1` or `Tree 0 : -1 -> 0 -> 2/-1/-1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreePlace {
    /// Channel number, from 0.
    pub channel: u32,
    /// The rank above; `None` at the root.
    pub up: Option<u32>,
    /// The rank that printed it.
    pub rank: u32,
    /// The ranks below.
    pub down: [Option<u32>; 3],
}

/// `Trees [0] 2/-1/-1->0->-1 [1] -1/-1/-1->0->1`: a rank's places in all trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trees<'a> {
    list: &'a str,
    is_cut: bool,
}

/// `Channel 00/0 : 3[0] -> 0[0] [receive] via NET/IB/0`: an edge, printed by its sender or
/// receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge<'a> {
    /// Channel number, from 0.
    pub channel: u32,
    /// 0 for collectives, 1 for sends and receives.
    pub connection_index: Option<u32>,
    /// The sending rank.
    pub sender: u32,
    /// The receiving rank.
    pub receiver: u32,
    /// What stands in brackets behind the ranks: PCI ids of their GPUs from 2.6 to 2.17.
    pub gpus: [Option<u64>; 2],
    /// The end that printed it; `None` within a node.
    pub end: Option<EdgeEnd>,
    /// Its transport.
    pub via: Via<'a>,
}

/// The end of an edge that printed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeEnd {
    /// The sender.
    Send,
    /// The receiver.
    Receive,
}

/// Transport of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via<'a> {
    /// A network between nodes.
    Net {
        /// Its name: `IB`, `Socket`, `AWS Libfabric`.
        network: &'a str,
        /// NCCL's number of the NIC.
        device: Option<u32>,
        /// The rank whose NIC is used, if not its own (PXN).
        proxy_rank: Option<u32>,
        /// Whether data goes directly between the NIC and the GPU's memory.
        is_gpu_direct: bool,
        /// Whether connections share buffers (sends and receives).
        is_shared: bool,
    },
    /// A transport within the node: `P2P/CUMEM`, `SHM/direct/direct`.
    Local(&'a str),
}

/// `Connected all rings, use ring PXN 0 GDR 0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connected<'a> {
    /// `rings`, `trees`, `binomial trees`, `NVLS tree`.
    pub what: &'a str,
    /// Whether rings use other ranks' NICs.
    pub pxn: Option<bool>,
    /// Whether rings use GPUDirect RDMA.
    pub gpu_direct: Option<bool>,
}

/// `2 coll channels, 2 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelCounts {
    /// Channels of rings and trees.
    pub collective: u32,
    /// Channels of sends and receives.
    pub point_to_point: u32,
}

impl<'a> RingOrder<'a> {
    fn read(channel: &str, list: &'a str, is_cut: bool) -> Option<Self> {
        let (channel, channels) = match channel.split_once('/') {
            Some((channel, channels)) => (channel, Some(channels.parse().ok()?)),
            None => (channel, None),
        };
        // The last rank may have lost digits.
        let list = if is_cut { list.rsplit_once(' ').map_or("", |(list, _)| list) } else { list };
        let is_list = list.split_whitespace().next()?.parse::<u32>().is_ok();
        is_list.then_some(Self { channel: channel.parse().ok()?, channels, list })
    }

    /// The ranks; each sends to the next one, the last to the first.
    pub fn ranks(&self) -> impl Iterator<Item = u32> {
        self.list.split_whitespace().map_while(|word| word.parse().ok())
    }
}

impl RingPlace {
    pub(super) fn read(text: &str) -> Option<Self> {
        let (channel, places) = text.strip_prefix("Ring ")?.split_once(" : ")?;
        let mut places = places.split(" -> ").map(|rank| rank.trim().parse().ok());
        let mut place = || places.next().flatten();
        let (previous, rank, next) = (place()?, place()?, place()?);
        Some(Self { channel: channel.parse().ok()?, previous, rank, next })
    }
}

impl TreePlace {
    /// `Tree 0 : UP -> RANK -> D0/D1/D2`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (channel, places) = text.strip_prefix("Tree ")?.split_once(" : ")?;
        let (up, places) = places.split_once(" -> ")?;
        let (own, down) = places.split_once(" -> ")?;
        Self::new(channel.parse().ok()?, up, own, down)
    }

    fn new(channel: u32, up: &str, own: &str, down: &str) -> Option<Self> {
        let mut below = down.split('/').map(|word| rank(word.trim()));
        let mut next = || below.next().unwrap_or(Some(None));
        let down = [next()?, next()?, next()?];
        Some(Self { channel, up: rank(up.trim())?, rank: own.trim().parse().ok()?, down })
    }
}

impl<'a> Trees<'a> {
    pub(super) fn read(text: &'a str, is_cut: bool) -> Option<Self> {
        Some(Self { list: text.strip_prefix("Trees [")?, is_cut })
    }

    /// The places, by channel.
    pub fn iter(&self) -> impl Iterator<Item = TreePlace> {
        let end = if self.is_cut { self.list.rfind(" [").unwrap_or(0) } else { self.list.len() };
        let list = self.list.get(..end).unwrap_or_default();
        list.split(" [").filter_map(|tree| {
            let (channel, places) = tree.split_once("] ")?;
            let (down, places) = places.split_once("->")?;
            let (own, up) = places.split_once("->")?;
            // Until 2.7, the second tree of the channel follows.
            let up = up.split('|').next()?;
            TreePlace::new(channel.parse().ok()?, up, own, down)
        })
    }
}

/// A line that begins with `Channel`; until 2.5, edges and rings begin with `Ring`.
pub(super) enum ChannelLine<'a> {
    Ring(RingOrder<'a>),
    Edge(Edge<'a>),
}

impl<'a> ChannelLine<'a> {
    pub(super) fn read(text: &'a str, is_cut: bool) -> Option<Self> {
        let text = text.strip_prefix("Channel ").or_else(|| text.strip_prefix("Ring "))?;
        let (channel, rest) = text.split_once(" : ")?;
        if rest.contains("->") {
            Edge::read(channel, rest).map(Self::Edge)
        } else {
            RingOrder::read(channel, rest, is_cut).map(Self::Ring)
        }
    }
}

impl<'a> Edge<'a> {
    fn read(channel: &str, text: &'a str) -> Option<Self> {
        let (channel, index) = match channel.split_once('/') {
            Some((channel, index)) => (channel, Some(index.parse().ok()?)),
            None => (channel, None),
        };
        let (ends, via) = text.split_once(" via ")?;
        let (sender, receiver) = ends.split_once(" -> ")?;
        let end = if receiver.ends_with("[send]") {
            Some(EdgeEnd::Send)
        } else if receiver.ends_with("[receive]") {
            Some(EdgeEnd::Receive)
        } else {
            None
        };
        Some(Self {
            channel: channel.parse().ok()?,
            connection_index: index,
            sender: leading(sender)?,
            receiver: leading(receiver)?,
            gpus: [sender, receiver].map(|end| between(end, "[", "]").and_then(hex)),
            end,
            via: Via::read(via.trim()),
        })
    }
}

impl<'a> Via<'a> {
    fn read(text: &'a str) -> Self {
        let Some(net) = text.strip_prefix("NET/") else { return Self::Local(text) };
        let mut parts = net.split('/');
        let network = parts.next().unwrap_or(net);
        let device = parts.next().unwrap_or("");
        let has = |name: &str| net.split('/').any(|part| part.starts_with(name));
        Self::Net {
            network,
            device: leading(device),
            proxy_rank: between(device, "(", ")").and_then(leading),
            is_gpu_direct: has("GDRDMA"),
            is_shared: has("Shared"),
        }
    }
}

impl<'a> Connected<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix("Connected ")?;
        let rest = rest.strip_prefix("all ").unwrap_or(rest);
        let (what, rest) = rest.split_once(", ").unwrap_or((rest, ""));
        matches!(what, "rings" | "trees" | "binomial trees" | "NVLS tree").then_some(())?;
        let flag = |key| number::<u8>(rest, key).map(|value| value != 0);
        Some(Self { what, pxn: flag("PXN"), gpu_direct: flag("GDR") })
    }
}

impl ChannelCounts {
    pub(super) fn read(text: &str) -> Option<Self> {
        let of =
            |kind: &str| text.split(", ").find_map(|part| leading(part.strip_suffix(kind)?.trim()));
        Some(Self { collective: of("coll channels")?, point_to_point: of("p2p channels")? })
    }
}
