//! A rank's seat: its rank, address and store, from the parent process or from a launcher.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::environment::{Environment, Launched};
use railscope_drive::job::Seat;
use railscope_drive::place::{self, Interface, RankPlace};

/// Set for ranks that `railscope drive --ranks` starts: the facts that torchrun's variables lack.
const VARIABLE: &str = "RAILSCOPE_DRIVE_SEAT";

/// The value of `RAILSCOPE_DRIVE_SEAT`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ChildSeat {
    /// The process that started this one.
    pub(super) parent: u32,
    address: IpAddr,
    interface: String,
    /// Largest packet of the interface, so that ranks build the same job as their parent.
    pub(super) mtu: u32,
    host: String,
}

impl ChildSeat {
    pub(super) fn at(place: &RankPlace, mtu: u32) -> Self {
        Self {
            parent: std::process::id(),
            address: place.address,
            interface: place.interface.clone(),
            mtu,
            host: place.host.clone(),
        }
    }

    /// Passes the seat to `command` in its environment.
    pub(super) fn set_variables(
        &self,
        command: &mut Command,
        seat: &Launched,
    ) -> anyhow::Result<()> {
        command.env(VARIABLE, serde_json::to_string(self)?);
        command.env_remove("TORCHELASTIC_USE_AGENT_STORE");
        command.env("RANK", seat.rank.to_string());
        command.env("WORLD_SIZE", seat.ranks.to_string());
        command.env("LOCAL_RANK", seat.local_rank.to_string());
        command.env("MASTER_ADDR", &seat.master);
        command.env("MASTER_PORT", seat.port.to_string());
        Ok(())
    }

    /// The seat from the parent process, if there is one.
    pub(super) fn of_process(environment: &Environment) -> anyhow::Result<Option<Self>> {
        let value = environment.text(VARIABLE);
        value.map(|text| serde_json::from_str(text).context(VARIABLE)).transpose()
    }

    pub(super) fn seat(self, launched: &Launched, logs: Option<&Path>) -> anyhow::Result<Seat> {
        seat(launched, (self.address, self.interface), self.host, logs)
    }
}

/// The interface of one rank of a multi-host job.
pub(super) fn interface(
    environment: &Environment,
    launched: &Launched,
) -> anyhow::Result<Interface> {
    Ok(match environment.text("NCCL_SOCKET_IFNAME") {
        Some(wish) => place::find_interface(Some(wish))?,
        None => place::towards(store(launched)?)?,
    })
}

/// The seat of a rank that a launcher started.
pub(super) fn launched_seat(
    launched: &Launched,
    interface: &Interface,
    logs: Option<&Path>,
) -> anyhow::Result<Seat> {
    seat(launched, (interface.address, interface.name.clone()), place::host_name(), logs)
}

fn seat(
    launched: &Launched,
    (address, interface): (IpAddr, String),
    host: String,
    logs: Option<&Path>,
) -> anyhow::Result<Seat> {
    let log = logs.map(|logs| logs.join(format!("nccl.{host}.{}.log", std::process::id())));
    let store = store(launched)?;
    let Launched { rank, ranks, local_rank, .. } = *launched;
    Ok(Seat { rank, ranks, local_rank, address, interface, host, store, log })
}

fn store(launched: &Launched) -> anyhow::Result<SocketAddr> {
    let Launched { master, port, .. } = launched;
    let unknown = || {
        format!("MASTER_ADDR={master} cannot be resolved: set it to the address of rank 0's host")
    };
    let found = (master.as_str(), *port).to_socket_addrs().with_context(unknown)?;
    let (v4, v6): (Vec<_>, Vec<_>) = found.partition(SocketAddr::is_ipv4);
    v4.into_iter().chain(v6).next().with_context(unknown)
}
