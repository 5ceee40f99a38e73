//! The meaning of an entry.

use super::call::{Call, Choice};
use super::communicator::{End, Init, Summary, Timings};
use super::fault::{AsyncEvent, FailedCompletion, Trace};
use super::graph::{
    ChannelCounts, ChannelLine, Connected, Edge, RingOrder, RingPlace, TreePlace, Trees,
};
use super::network::{Device, GpuDirect, Hcas, Interface, Interfaces, Ofi, Plugin};
use super::queue_pair::{LoggedQueuePair, QueuePairCreated};
use super::topic::Topic;
use super::words;
use crate::model::nccl::Release;

/// The meaning of an entry; patterns are those of NCCL 2.2 to 2.32 and of RCCL.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Message<'a> {
    /// `NCCL version 2.27.5+cuda12.9`.
    Release(Release),
    /// A rank of a communicator starts or is ready.
    Init(Init<'a>),
    /// Nodes and local ranks of a communicator.
    Summary(Summary),
    /// A communicator has ended.
    End(End),
    /// Timings of a communicator's initialisation.
    InitTimings(Timings<'a>),
    /// How long each part of the bootstrap took.
    BootstrapTimings(Timings<'a>),
    /// The interface that the control plane uses.
    BootstrapInterface(Interface<'a>),
    /// HCAs that NET/IB uses; empty if it found none.
    Hcas(Hcas<'a>),
    /// `NET/IB : No device found.`
    NoHca,
    /// Interfaces that NET/Socket uses.
    SocketInterfaces(Interfaces<'a>),
    /// `NET/Socket : No usable listening interface found`.
    NoSocketInterface,
    /// `Using network NAME`: a communicator's network between nodes. Until 2.3: `Using internal
    /// Network NAME`.
    Network(&'a str),
    /// `CUDA Dev 0[0], IB NIC distance :  SYS` (2.4): the network, and how far its NICs are from a GPU.
    NicDistance {
        /// The network.
        network: &'a str,
        /// `PIX`, `PXB`, `PHB`, `NODE` or `SYS`, for each NIC.
        distance: &'a str,
    },
    /// `Initialized NET plugin NAME` (2.27 and later): the network that works in this process.
    InitializedNetwork(&'a str),
    /// `Assigned NET plugin NAME to comm` (2.27 and later); other areas are GIN and RMA.
    AssignedNetwork(&'a str),
    /// A plugin was searched for.
    Plugin(Plugin<'a>),
    /// aws-ofi-nccl.
    Ofi(Ofi<'a>),
    /// A device of NET/IB.
    Device(Device<'a>),
    /// Several devices merged into one, or a single one.
    VirtualDevice(Device<'a>),
    /// GPUDirect RDMA of a device.
    GpuDirect(GpuDirect<'a>),
    /// A channel's ring.
    RingOrder(RingOrder<'a>),
    /// A rank's place in a channel's ring.
    RingPlace(RingPlace),
    /// A rank's places in all trees.
    Trees(Trees<'a>),
    /// A rank's place in a channel's tree.
    TreePlace(TreePlace),
    /// An edge between two ranks.
    Edge(Edge<'a>),
    /// Rings or trees are connected.
    Connected(Connected<'a>),
    /// Number of channels.
    ChannelCounts(ChannelCounts),
    /// A queue pair is connected.
    QueuePair(LoggedQueuePair),
    /// A queue pair was created.
    QueuePairCreated(QueuePairCreated<'a>),
    /// A collective is called.
    Call(Call<'a>),
    /// Algorithm and protocol of a collective.
    Choice(Choice),
    /// `NCCL_X set by environment to V.`
    Environment {
        /// The variable.
        name: &'a str,
        /// Its value, as printed.
        value: &'a str,
    },
    /// A work request failed.
    FailedCompletion(FailedCompletion<'a>),
    /// A port or device changed state.
    AsyncEvent(AsyncEvent<'a>),
    /// A call returned an error: a line of the chain from where it failed up to the caller.
    Trace(Trace<'a>),
    /// Known, but not used here.
    Known(Topic),
    /// Unknown.
    Other,
}

impl<'a> Message<'a> {
    /// Parses a message; if it is truncated, the last value of a list is left out.
    pub(super) fn read(text: &'a str, is_cut: bool) -> Self {
        Self::read_call(text)
            .or_else(|| Trace::read(text).map(Self::Trace))
            .or_else(|| Self::read_communicator(text))
            .or_else(|| Self::read_graph(text, is_cut))
            .or_else(|| Self::read_network(text))
            .or_else(|| Topic::from_text(text).map(Self::Known))
            .unwrap_or(Self::Other)
    }

    fn read_call(text: &'a str) -> Option<Self> {
        Call::read(text).map(Self::Call).or_else(|| Choice::read(text).map(Self::Choice))
    }

    fn read_communicator(text: &'a str) -> Option<Self> {
        if text.ends_with("COMPLETE") || text.ends_with("START") {
            return Init::read(text).map(Self::Init).or_else(|| End::read(text).map(Self::End));
        }
        if text.starts_with("comm ") {
            let summary = Summary::read(text).map(Self::Summary);
            return summary.or_else(|| Init::read_named(text).map(Self::Init));
        }
        if text.starts_with("Init timings") {
            return Timings::read(text).map(Self::InitTimings);
        }
        if text.starts_with("Bootstrap timings") {
            return Timings::read(text).map(Self::BootstrapTimings);
        }
        if text.starts_with("NCCL version ") || text.starts_with("RCCL version ") {
            return words::version(text).map(|(release, _)| Self::Release(release));
        }
        let (name, value) = text
            .split_once(" set by environment to ")
            .or_else(|| text.split_once(" set to "))
            .filter(|(name, _)| name.starts_with("NCCL_") && !name.contains(' '))?;
        let value = value.strip_suffix('.').unwrap_or(value);
        Some(Self::Environment { name, value })
    }

    fn read_graph(text: &'a str, is_cut: bool) -> Option<Self> {
        if text.starts_with("Channel ") {
            return Self::read_channel(text, is_cut);
        }
        if text.starts_with("Ring ") {
            let place = RingPlace::read(text).map(Self::RingPlace);
            return place.or_else(|| Self::read_channel(text, is_cut));
        }
        if text.starts_with("Trees ") {
            return Trees::read(text, is_cut).map(Self::Trees);
        }
        if text.starts_with("Tree ") {
            return TreePlace::read(text).map(Self::TreePlace);
        }
        if text.contains(" coll channels, ") {
            return ChannelCounts::read(text).map(Self::ChannelCounts);
        }
        Connected::read(text).map(Self::Connected)
    }

    fn read_channel(text: &'a str, is_cut: bool) -> Option<Self> {
        ChannelLine::read(text, is_cut).map(|line| match line {
            ChannelLine::Ring(ring) => Self::RingOrder(ring),
            ChannelLine::Edge(edge) => Self::Edge(edge),
        })
    }

    fn read_network(text: &'a str) -> Option<Self> {
        let bootstrap = text.strip_prefix("Bootstrap : Using ");
        if let Some(interface) = bootstrap.or_else(|| text.strip_prefix("Bootstrap: Using ")) {
            let interface = interface.split_whitespace().next()?;
            let (_, interface) = interface.rsplit_once(']').unwrap_or(("", interface));
            return Interface::read(interface).map(Self::BootstrapInterface);
        }
        if let Some(interface) = text.strip_prefix("NET : Using interface ") {
            return Interface::read(interface).map(Self::BootstrapInterface);
        }
        if let Some(name) = text
            .strip_prefix("Using network ")
            .or_else(|| text.strip_prefix("Using internal Network "))
        {
            return Some(Self::Network(name));
        }
        if let Some((network, distance)) = text
            .strip_prefix("CUDA Dev ")
            .and_then(|rest| rest.split_once("], "))
            .and_then(|(_, rest)| rest.split_once(" NIC distance"))
        {
            return Some(Self::NicDistance {
                network,
                distance: distance.trim_matches([' ', ':']),
            });
        }
        if let Some(name) = text.strip_prefix("Initialized NET plugin ") {
            return Some(Self::InitializedNetwork(name));
        }
        if let Some(rest) = text.strip_prefix("Assigned ") {
            let name = words::between(rest, " plugin ", " to comm")?;
            return Some(match rest.starts_with("NET ") {
                true => Self::AssignedNetwork(name),
                false => Self::Known(Topic::GpuInitiated),
            });
        }
        if text.starts_with("NET/OFI ") {
            return Ofi::read(text).map(Self::Ofi);
        }
        if text.contains("/Plugin") {
            return Plugin::read(text).map(Self::Plugin);
        }
        if text.starts_with("NET/Socket") {
            return Self::read_socket(text);
        }
        if text.contains("GPU Direct RDMA ") {
            return GpuDirect::read(text).map(Self::GpuDirect);
        }
        if text.starts_with("NET/") { Self::read_ib(text) } else { None }
    }

    fn read_socket(text: &'a str) -> Option<Self> {
        if text.contains("No usable listening interface") {
            return Some(Self::NoSocketInterface);
        }
        Interfaces::read(text.split_once("Using [")?.1).map(Self::SocketInterfaces)
    }

    fn read_ib(text: &'a str) -> Option<Self> {
        if text.starts_with("NET/IB : No device found") {
            return Some(Self::NoHca);
        }
        FailedCompletion::read(text)
            .map(Self::FailedCompletion)
            .or_else(|| AsyncEvent::read(text).map(Self::AsyncEvent))
            .or_else(|| Hcas::read(text).map(Self::Hcas))
            .or_else(|| QueuePairCreated::read(text).map(Self::QueuePairCreated))
            .or_else(|| LoggedQueuePair::read(text).map(Self::QueuePair))
            .or_else(|| Device::read(text).map(Self::Device))
            .or_else(|| Device::read_virtual(text).map(Self::VirtualDevice))
    }
}
