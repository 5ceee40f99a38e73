//! `[ras]`: settings of the source `ras`.

use std::net::{Ipv4Addr, SocketAddr};

use super::reader::Reader;

/// NCCL's RAS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RasConfig {
    /// Where it listens: `NCCL_RAS_ADDR`.
    pub address: SocketAddr,
}

impl Default for RasConfig {
    fn default() -> Self {
        Self { address: SocketAddr::from((Ipv4Addr::LOCALHOST, 28028)) }
    }
}

impl RasConfig {
    pub(super) fn read(&mut self, reader: &mut Reader<'_>) {
        reader.section("ras", |section| section.key("address", &mut self.address));
    }
}
