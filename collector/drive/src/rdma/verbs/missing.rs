//! The adapter of a railscope built without libibverbs: opening it fails.

use std::convert::Infallible;
use std::time::Duration;

use super::VerbsSettings;
use crate::rdma::{Completion, Device, Rdma, Region, RegionId, Remote, Write};
use crate::{DriveError, Result};

/// Cannot be created.
#[derive(Debug)]
pub struct VerbsAdapter(Infallible);

impl VerbsAdapter {
    /// # Errors
    /// [`DriveError::Unusable`], always, with how to get a railscope with verbs.
    pub fn open(_settings: &VerbsSettings) -> Result<Self> {
        let way_out = "railscope was built without verbs: cargo install --features verbs (needs \
                       libibverbs-dev and libclang 14)";
        Err(DriveError::Unusable(way_out.to_owned()))
    }
}

impl Rdma for VerbsAdapter {
    fn device(&self) -> &Device {
        match self.0 {}
    }

    fn register(&mut self, _bytes: usize) -> Result<Region> {
        match self.0 {}
    }

    fn memory(&self, _region: RegionId) -> &[u8] {
        match self.0 {}
    }

    fn memory_mut(&mut self, _region: RegionId) -> &mut [u8] {
        match self.0 {}
    }

    fn create_queue_pair(&mut self) -> Result<u32> {
        match self.0 {}
    }

    fn connect(&mut self, _qpn: u32, _remote: &Remote) -> Result<()> {
        match self.0 {}
    }

    fn post_write(&mut self, _qpn: u32, _write: &Write) -> Result<()> {
        match self.0 {}
    }

    fn post_receive(&mut self, _qpn: u32, _id: u64) -> Result<()> {
        match self.0 {}
    }

    fn poll(&mut self, _completions: &mut Vec<Completion>, _wait: Duration) -> Result<()> {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::{VerbsAdapter, VerbsSettings};

    #[test]
    fn it_says_how_to_get_verbs() {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let settings = VerbsSettings { address, hca: None, gid_index: None };
        assert_eq!(
            VerbsAdapter::open(&settings).unwrap_err().to_string(),
            "railscope was built without verbs: cargo install --features verbs (needs \
             libibverbs-dev and libclang 14)"
        );
    }
}
