//! A rank's network: the plugin and its adapter.

use std::net::IpAddr;

use super::trouble;
use crate::Result;
use crate::fault::Fault;
use crate::job::{IbSettings, Job, Seat, Transport};
use crate::nccl_log;
use crate::net::Net;
use crate::net::ib::Ib;
use crate::net::socket::{Socket, SocketSettings};
use crate::pfc::Port;
use crate::rdma::soft::{Counters, Injection, PortPause, SoftAdapter, SoftSettings};
use crate::rdma::verbs::{VerbsAdapter, VerbsSettings};
use crate::rdma::{Device, Rdma};

/// The data path of a rank.
pub(super) enum Network {
    Soft(Box<Ib<SoftAdapter>>),
    Verbs(Box<Ib<VerbsAdapter>>),
    Socket(Socket),
}

impl Network {
    pub(super) fn open(job: &Job, seat: &Seat) -> Result<Self> {
        let address = seat.address;
        let is_fallback = job.faults.contains(&Fault::SocketFallback);
        match job.transport {
            Transport::Soft if !is_fallback => {
                let (mtu, seed) = (job.ib.mtu, job.seed);
                // Edges are known once the ranks have met: see `Network::trouble`.
                let settings = SoftSettings { address, mtu, seed };
                let mut adapter = SoftAdapter::open(&settings)?;
                if trouble::pauses(&job.faults, seat.rank) {
                    let class = job.ib.traffic_class >> 5;
                    adapter.keep_pauses(Port::open(&seat.interface)?, class);
                }
                Ok(Self::Soft(over(adapter, job, seat)))
            }
            Transport::Verbs if !is_fallback => {
                let IbSettings { hca, gid_index, .. } = job.ib.clone();
                let settings = VerbsSettings { address, hca, gid_index };
                Ok(Self::Verbs(over(VerbsAdapter::open(&settings)?, job, seat)))
            }
            _ => Ok(Self::Socket(Socket::new(job.release, SocketSettings::default(), address))),
        }
    }

    pub(super) fn net(&mut self) -> &mut dyn Net {
        match self {
            Self::Soft(net) => net.as_mut(),
            Self::Verbs(net) => net.as_mut(),
            Self::Socket(net) => net,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Soft(net) => net.name(),
            Self::Verbs(net) => net.name(),
            Self::Socket(net) => net.name(),
        }
    }

    /// `None` without RDMA.
    pub(super) fn device(&self) -> Option<&Device> {
        match self {
            Self::Soft(net) => Some(net.adapter().device()),
            Self::Verbs(net) => Some(net.adapter().device()),
            Self::Socket(_) => None,
        }
    }

    pub(super) fn logged(&self) -> nccl_log::Network {
        match self.device() {
            Some(device) => nccl_log::Network::Ib(device.clone()),
            None => nccl_log::Network::Socket,
        }
    }

    /// Sets the faults of packets and of TCP in this training step; `addresses` has those of all ranks, in rank
    /// order.
    ///
    /// # Errors
    /// The system cannot pace TCP.
    pub(super) fn trouble(
        &mut self,
        job: &Job,
        rank: u32,
        addresses: &[IpAddr],
        iteration: Option<u32>,
    ) -> Result<()> {
        match self {
            Self::Soft(net) => {
                let faults = trouble::packet_faults(&job.faults, rank, addresses, iteration);
                net.adapter_mut().set_faults(faults);
                let share = trouble::pause_share(&job.faults, rank, iteration);
                net.adapter_mut().set_pause_share(share);
                Ok(())
            }
            Self::Socket(net) => {
                net.limit(|receiver| trouble::socket_rate(&job.faults, rank, receiver, iteration))
            }
            Self::Verbs(_) => Ok(()),
        }
    }

    /// The adapter's counters, if it has any.
    pub(super) fn counters(&self) -> Option<Counters> {
        match self {
            Self::Soft(net) => Some(net.adapter().counters()),
            Self::Verbs(_) | Self::Socket(_) => None,
        }
    }

    /// Pauses that the port asked for or kept since the last call.
    pub(super) fn take_pauses(&mut self) -> Vec<PortPause> {
        match self {
            Self::Soft(net) => net.adapter_mut().take_pauses(),
            Self::Verbs(_) | Self::Socket(_) => Vec::new(),
        }
    }

    /// Packets hit by a fault since the last call.
    pub(super) fn take_injected(&mut self) -> Vec<Injection> {
        match self {
            Self::Soft(net) => net.adapter_mut().take_injected(),
            Self::Verbs(_) | Self::Socket(_) => Vec::new(),
        }
    }
}

fn over<R: Rdma>(adapter: R, job: &Job, seat: &Seat) -> Box<Ib<R>> {
    let forced_mtu = trouble::forced_mtu(&job.faults, seat.rank);
    let settings = IbSettings { forced_mtu, ..job.ib.clone() };
    Box::new(Ib::new(adapter, job.release, settings, seat.address))
}

/// The variables that NCCL's log would list as set.
pub(super) fn settings(job: &Job, seat: &Seat) -> Vec<(&'static str, String)> {
    let mut settings = vec![
        ("NCCL_SOCKET_IFNAME", seat.interface.clone()),
        ("NCCL_IB_TC", job.ib.traffic_class.to_string()),
        ("NCCL_IB_QPS_PER_CONNECTION", job.ib.queue_pairs.to_string()),
    ];
    settings.extend(job.ib.hca.clone().map(|hca| ("NCCL_IB_HCA", hca)));
    settings.extend(job.ib.gid_index.map(|index| ("NCCL_IB_GID_INDEX", index.to_string())));
    settings.push(("NCCL_ALGO", "Ring".to_owned()));
    settings.push(("NCCL_PROTO", "Simple".to_owned()));
    settings
}
