//! `ncclUniqueId`, 128 bytes (NCCL `src/nccl.h.in`), holding `struct ncclBootstrapHandle`
//! (`src/include/bootstrap.h`): the magic of the communicator at 0, the root's address at 8.

use std::fmt;
use std::net::SocketAddr;

use super::image::{Fields, Image};
use super::{Parsed, hash, socket_address};
use crate::release::Release;

/// Size in bytes.
pub const BYTES: usize = 128;

/// The id that the ranks of a communicator share through the store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UniqueId(pub [u8; BYTES]);

impl UniqueId {
    /// The id of a root that listens at `root`; connections greet with `magic`.
    #[must_use]
    pub fn new(magic: u64, root: SocketAddr) -> Self {
        let image = Image::new(BYTES).u64(0, magic).address(8, root).into_bytes();
        Self(image.try_into().unwrap_or([0; BYTES]))
    }

    /// # Errors
    /// Another length, no address, or something behind it.
    pub fn parse(bytes: &[u8]) -> Parsed<Self> {
        let fields = Fields::new(bytes, BYTES, "a unique id")?;
        let rest = bytes.iter().skip(8 + socket_address::BYTES);
        if fields.address(8).is_none() || rest.into_iter().any(|byte| *byte != 0) {
            return Err("a unique id that names no root".to_owned());
        }
        Ok(Self(fields.array(0)))
    }

    /// The magic that connections of the communicator greet with.
    #[must_use]
    pub fn magic(&self) -> u64 {
        Fields::new(&self.0, BYTES, "").map_or(0, |fields| fields.u64(0))
    }

    /// Where the root listens; `None` for an id that was neither parsed nor created here.
    #[must_use]
    pub fn root(&self) -> Option<SocketAddr> {
        Fields::new(&self.0, BYTES, "").ok()?.address(8)
    }

    /// The communicator's hash in profilers, and in the log from 2.26 on.
    #[must_use]
    pub fn comm_hash(&self, release: Release) -> u64 {
        hash::hash(release, &self.0)
    }

    /// `commId` of the log.
    #[must_use]
    pub fn logged_id(&self, release: Release) -> u64 {
        match release {
            Release::V2_21_5 => hash::logged_id(&self.0),
            Release::V2_27_7 => self.comm_hash(release),
        }
    }
}

impl fmt::Display for UniqueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for UniqueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UniqueId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Captures of NCCL 2.21.5 and 2.27.5: magic, root and what the logs and the truth say.
    #[test]
    fn ids_of_real_jobs() {
        let old = UniqueId::new(0xfc74_4f3f_090d_0d00, "192.168.50.1:35121".parse().unwrap());
        assert_eq!(old.comm_hash(Release::V2_21_5), 0x3edf_3132_2318_b575);
        assert_eq!(old.logged_id(Release::V2_21_5), 0xee3e_8379_b95d_1589);
        let new = UniqueId::new(0x035e_8ca4_f4bb_21fd, "192.168.50.1:35209".parse().unwrap());
        assert_eq!(new.comm_hash(Release::V2_27_7), 0x0ed0_4865_336c_0448);
        assert_eq!(new.logged_id(Release::V2_27_7), 0x0ed0_4865_336c_0448);
        assert!(new.to_string().starts_with("fd21bbf4a48c5e0302008989c0a8320100000000"));
        assert_eq!(UniqueId::parse(&new.0), Ok(new));
        assert_eq!(new.root(), "192.168.50.1:35209".parse().ok());
    }

    #[test]
    fn what_is_none_is_refused() {
        assert!(UniqueId::parse(&[0; 128]).is_err());
        assert!(UniqueId::parse(&[2; 128]).is_err());
        assert!(UniqueId::parse(b"short").is_err());
    }
}
