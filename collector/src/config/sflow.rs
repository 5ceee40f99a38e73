//! `[sflow]`: settings of the source `sflow`.

use std::net::{Ipv6Addr, SocketAddr};

use super::reader::Reader;

/// The assigned UDP port of collectors.
const UDP_PORT: u16 = 6343;

/// Where switches send what they sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SflowConfig {
    /// The address of the UDP socket; `[::]` is IPv4, too.
    pub listen: SocketAddr,
}

impl Default for SflowConfig {
    fn default() -> Self {
        Self { listen: SocketAddr::from((Ipv6Addr::UNSPECIFIED, UDP_PORT)) }
    }
}

impl SflowConfig {
    pub(super) fn read(&mut self, reader: &mut Reader<'_>) {
        reader.section("sflow", |section| section.key("listen", &mut self.listen));
    }
}
