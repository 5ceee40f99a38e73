//! The GIDs that MLNX_OFED's `show_gids` lists.

use std::net::Ipv6Addr;

use super::{Output, Taken, TakesLines};
use crate::model::node::{Gid, RoceVersion};

/// Most GIDs read: 16 ports with 256 each.
const GIDS: usize = 4096;

/// The table of `show_gids`.
#[derive(Clone, Debug, Default)]
pub(super) struct ShowGids {
    gids: Vec<Gid>,
}

impl ShowGids {
    /// Its head: `DEV PORT INDEX GID IPv4 VER DEV`.
    pub(super) fn begin(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let is_head = ["DEV", "PORT", "INDEX", "GID"].iter().all(|word| words.next() == Some(word));
        is_head.then(Self::default)
    }
}

impl TakesLines for ShowGids {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        if text.starts_with("---") || text.is_empty() {
            return Taken::Yes;
        }
        if text.starts_with("n_gids_found") {
            return Taken::Last;
        }
        match row(text) {
            Some(gid) if self.gids.len() < GIDS => {
                self.gids.push(gid);
                Taken::Yes
            }
            _ => Taken::End,
        }
    }

    fn finish(self) -> Option<Output> {
        Some(Output::Gids(self.gids))
    }
}

/// `mlx5_1 1 3 0000:...:0ac8:001c 10.200.0.28 v2 ens1f1`: without an IPv4 address, or without an
/// interface, the column is empty.
fn row(text: &str) -> Option<Gid> {
    let mut words = text.split_whitespace();
    let device = words.next()?.to_owned();
    let port = words.next()?.parse().ok()?;
    let index = words.next()?.parse().ok()?;
    let gid: Ipv6Addr = words.next()?.parse().ok()?;
    let (mut version, mut netdev) = (None, None);
    for word in words {
        match word {
            "v1" => version = Some(RoceVersion::V1),
            "v2" => version = Some(RoceVersion::V2),
            _ if version.is_some() => netdev = Some(word.to_owned()),
            _ => {}
        }
    }
    Some(Gid { device, port, index, gid, version, netdev })
}
