//! Where the ranks of one machine run, so that there is a network between them.
//!
//! The best place is a network namespace per rank, each with one end of a veth pair; the other ends
//! are on a bridge in a namespace that is the fabric. The namespaces have no names, so they vanish
//! with their processes, however those end. `namespace` creates them; `interface` finds addresses
//! when ranks share the machine's network.

mod batch;
mod interface;
mod namespace;
mod rank_place;
mod sys;

use std::net::Ipv4Addr;

use self::rank_place::{node_name, numbered};
use super::{DriveError, Result};
pub use interface::{Interface, find_interface, host_name, towards};
pub use rank_place::{Kind, Places, RankPlace, take_host_name};
pub use sys::{die_with_parent, user_id};

/// Largest number of ranks: addresses of one /24.
pub const MAX_RANKS: u32 = 200;

/// Creates places for `ranks` ranks: of `kind`, or the best that works here. On the machine's own
/// network they use the interface that `wish` selects as `NCCL_SOCKET_IFNAME` does, or the first
/// that is up.
///
/// The calling thread moves into the fabric's namespace, which ends with it. Only a single-threaded
/// process can create a user namespace, so call this first.
///
/// # Errors
/// The requested kind does not work here.
pub fn make(kind: Option<Kind>, wish: Option<&str>, ranks: u32) -> Result<Places> {
    let reason = match kind {
        Some(Kind::Loopback) => return Ok(loopback(ranks, None)),
        Some(Kind::Host) => return find_interface(wish).map(|found| host(ranks, &found)),
        Some(kind @ (Kind::Namespaces | Kind::UserNamespaces)) => {
            return namespace::probe(kind)
                .map_err(DriveError::Unusable)
                .and_then(|()| namespace::make(kind, ranks));
        }
        None => match namespace::probe(Kind::Namespaces) {
            Ok(()) => return namespace::make(Kind::Namespaces, ranks),
            Err(reason) => reason,
        },
    };
    match namespace::probe(Kind::UserNamespaces) {
        Ok(()) => namespace::make(Kind::UserNamespaces, ranks),
        Err(other) if other == reason => Ok(loopback(ranks, Some(reason))),
        Err(other) => Ok(loopback(ranks, Some(format!("{reason}; {other}")))),
    }
}

/// All ranks share one interface of the machine.
fn host(ranks: u32, interface: &Interface) -> Places {
    let host = host_name();
    let place = |rank| RankPlace {
        address: interface.address,
        interface: interface.name.clone(),
        host: host.clone(),
        local_rank: rank,
        port: interface.name.clone(),
        namespace: None,
    };
    let ranks = (0..ranks).map(place).collect();
    Places { kind: Kind::Host, ranks, mtu: interface.mtu, reason: None }
}

fn loopback(ranks: u32, reason: Option<String>) -> Places {
    let place = |rank: u32| RankPlace {
        // 127.0.0.1 is used by everyone.
        address: numbered(Ipv4Addr::new(127, 0, 0, 2), rank),
        interface: "lo".to_owned(),
        host: node_name(rank),
        local_rank: 0,
        port: "lo".to_owned(),
        namespace: None,
    };
    let ranks = (0..ranks).map(place).collect();
    Places { kind: Kind::Loopback, ranks, mtu: 65_536, reason }
}
