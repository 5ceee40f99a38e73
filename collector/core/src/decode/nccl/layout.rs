//! The one table of which release has which layout. All rows come from the debug information of
//! released libraries (`tests/fixtures/nccl-layouts`); those of 2.18, 2.21, 2.27, 2.28 and 2.30 also
//! agree with captures. Releases before 2.16 have no greeting and are not read.

use std::fmt;

use super::check_in::{CHECK_IN_64, CHECK_IN_172, CHECK_IN_176, CheckInLayout};
use super::cts::{CTS_32, CTS_64_EIGHT_KEYS, CTS_64_FOUR_KEYS, CTS_64_TWO_KEYS, CtsLayout};
use super::ib_devices::{DEVICES_20, DEVICES_37, DeviceListLayout};
use super::ib_endpoint::{
    ENDPOINT_552, ENDPOINT_2600, ENDPOINT_3336, ENDPOINT_3576, ENDPOINT_3584, ENDPOINT_3648,
    ENDPOINT_3744, ENDPOINT_4576, ENDPOINT_4712, EndpointLayout,
};
use super::peer_info::{
    PEER_INFO_64, PEER_INFO_96, PEER_INFO_104, PEER_INFO_104_UNVERSIONED, PEER_INFO_120,
    PEER_INFO_128, PEER_INFO_144, PEER_INFO_152, PEER_INFO_168, PeerInfoLayout,
};
use super::peer_message::{PEER_MESSAGE_128, PEER_MESSAGE_256, PeerMessageLayout};
use super::ring_data::{
    ADDRESSES_28_28, ADDRESSES_28_28_8, AddressLayout, RING_DATA_64, RING_DATA_104, RING_DATA_120,
};
use super::topology::{
    TOPOLOGY_988, TOPOLOGY_1192, TOPOLOGY_1196, TOPOLOGY_1220, TOPOLOGY_1228, TOPOLOGY_1260,
    TOPOLOGY_2284, TOPOLOGY_2288, TOPOLOGY_2292, TOPOLOGY_2300, TOPOLOGY_2320, TOPOLOGY_2324,
    TopologyLayout,
};
use crate::model::nccl::Release;

/// A range of releases, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseRange {
    /// The oldest release.
    pub first: Release,
    /// The newest release.
    pub last: Release,
}

impl ReleaseRange {
    /// All releases with a layout.
    pub const KNOWN: Self = Self { first: V2_16.releases.first, last: V2_32.releases.last };

    /// One release alone.
    #[must_use]
    pub const fn exactly(release: Release) -> Self {
        Self { first: release, last: release }
    }

    /// Whether the release is in the range.
    #[must_use]
    pub fn contains(self, release: Release) -> bool {
        self.first <= release && release <= self.last
    }

    /// The intersection; `None` if it is empty.
    #[must_use]
    pub fn intersect(self, other: Self) -> Option<Self> {
        let both = Self { first: self.first.max(other.first), last: self.last.min(other.last) };
        (both.first <= both.last).then_some(both)
    }

    /// All releases of `layouts`, which are adjacent rows; `None` if there are none.
    #[must_use]
    pub fn covering(layouts: &[Layout]) -> Option<Self> {
        let (first, last) = (layouts.first()?, layouts.last()?);
        Some(Self { first: first.releases.first, last: last.releases.last })
    }
}

impl fmt::Display for ReleaseRange {
    /// One release, one minor release (`2.18`), or the two minor releases at the ends.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minor = |release: Release| {
            let text = release.to_string();
            text.rsplit_once('.').map_or(text.clone(), |(minor, _)| minor.to_owned())
        };
        let (first, last) = (minor(self.first), minor(self.last));
        match () {
            () if self.first == self.last => write!(f, "{}", self.first),
            () if first == last => f.write_str(&first),
            () => write!(f, "{first} to {last}"),
        }
    }
}

/// The layouts of a range of releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Releases whose structures have this layout.
    pub releases: ReleaseRange,
    /// `struct extInfo`.
    pub check_in: &'static CheckInLayout,
    /// What is gathered before `PeerInfo`.
    pub addresses: &'static AddressLayout,
    /// `struct ncclPeerInfo`.
    pub peer_info: &'static PeerInfoLayout,
    /// `struct allGatherInfo`.
    pub topology: &'static TopologyLayout,
    /// Messages between two ranks.
    pub peer_message: &'static PeerMessageLayout,
    /// The list of ports at the start of an exchange of queue pairs; `None` up to 2.23.
    pub devices: Option<&'static DeviceListLayout>,
    /// `struct ncclIbQpInfo`, later `struct ncclIbConnectionMetadata`.
    pub endpoint: &'static EndpointLayout,
    /// `struct ncclIbSendFifo`.
    pub cts: &'static CtsLayout,
}

/// The table, oldest first.
pub static LAYOUTS: [Layout; 18] = [
    V2_16, V2_18, V2_19, V2_20, V2_21, V2_22, V2_23, V2_24, V2_25, V2_26, V2_27, V2_28, V2_29,
    V2_29_7, V2_30, V2_30_7, V2_31, V2_32,
];

/// The layouts that match. A column never returns to an earlier value, so matches are adjacent.
#[must_use]
pub fn narrow(layouts: &[Layout], fits: impl Fn(&Layout) -> bool) -> &[Layout] {
    let first = layouts.iter().position(&fits).unwrap_or(layouts.len());
    let end = layouts.iter().rposition(fits).map_or(first, |last| last.saturating_add(1));
    layouts.get(first..end).unwrap_or(&[])
}

/// The layouts of a release, if it is known.
#[must_use]
pub fn for_release(release: Release) -> Option<&'static Layout> {
    LAYOUTS.iter().find(|layout| layout.releases.contains(release))
}

// Each row changes the previous one.

const V2_16: Layout = Layout {
    releases: between(Release::new(2, 16, 0), Release::new(2, 17, 99)),
    check_in: &CHECK_IN_64,
    addresses: &ADDRESSES_28_28,
    peer_info: &PEER_INFO_64,
    topology: &TOPOLOGY_988,
    peer_message: &PEER_MESSAGE_128,
    devices: None,
    endpoint: &ENDPOINT_552,
    cts: &CTS_32,
};

const V2_18: Layout = Layout { releases: minor(18), topology: &TOPOLOGY_1192, ..V2_16 };

const V2_19: Layout = Layout { releases: minor(19), endpoint: &ENDPOINT_2600, ..V2_18 };

const V2_20: Layout = Layout {
    releases: minor(20),
    addresses: &ADDRESSES_28_28_8,
    peer_info: &PEER_INFO_96,
    topology: &TOPOLOGY_1196,
    endpoint: &ENDPOINT_3336,
    cts: &CTS_64_TWO_KEYS,
    ..V2_19
};

const V2_21: Layout = Layout { releases: minor(21), topology: &TOPOLOGY_1220, ..V2_20 };

const V2_22: Layout = Layout {
    releases: minor(22),
    peer_info: &PEER_INFO_104_UNVERSIONED,
    topology: &TOPOLOGY_1228,
    ..V2_21
};

const V2_23: Layout = Layout {
    releases: minor(23),
    check_in: &CHECK_IN_172,
    addresses: &RING_DATA_64,
    peer_info: &PEER_INFO_104,
    topology: &TOPOLOGY_1260,
    peer_message: &PEER_MESSAGE_256,
    ..V2_22
};

const V2_24: Layout = Layout {
    releases: minor(24),
    addresses: &RING_DATA_104,
    devices: Some(&DEVICES_20),
    endpoint: &ENDPOINT_3576,
    cts: &CTS_64_FOUR_KEYS,
    ..V2_23
};

const V2_25: Layout = Layout { releases: minor(25), topology: &TOPOLOGY_2284, ..V2_24 };

const V2_26: Layout =
    Layout { releases: minor(26), addresses: &RING_DATA_120, endpoint: &ENDPOINT_3584, ..V2_25 };

const V2_27: Layout = Layout {
    releases: minor(27),
    peer_info: &PEER_INFO_120,
    topology: &TOPOLOGY_2288,
    endpoint: &ENDPOINT_3648,
    ..V2_26
};

const V2_28: Layout = Layout { releases: minor(28), topology: &TOPOLOGY_2292, ..V2_27 };

const V2_29: Layout = Layout {
    releases: between(Release::new(2, 29, 0), Release::new(2, 29, 6)),
    check_in: &CHECK_IN_176,
    topology: &TOPOLOGY_2300,
    ..V2_28
};

const V2_29_7: Layout = Layout {
    releases: between(Release::new(2, 29, 7), Release::new(2, 29, 99)),
    peer_info: &PEER_INFO_128,
    endpoint: &ENDPOINT_3744,
    ..V2_29
};

const V2_30: Layout = Layout {
    releases: between(Release::new(2, 30, 0), Release::new(2, 30, 6)),
    topology: &TOPOLOGY_2320,
    devices: Some(&DEVICES_37),
    endpoint: &ENDPOINT_4576,
    cts: &CTS_64_EIGHT_KEYS,
    ..V2_29_7
};

const V2_30_7: Layout = Layout {
    releases: between(Release::new(2, 30, 7), Release::new(2, 30, 99)),
    peer_info: &PEER_INFO_144,
    ..V2_30
};

const V2_31: Layout = Layout {
    releases: minor(31),
    peer_info: &PEER_INFO_152,
    topology: &TOPOLOGY_2324,
    endpoint: &ENDPOINT_4712,
    ..V2_30_7
};

const V2_32: Layout = Layout { releases: minor(32), peer_info: &PEER_INFO_168, ..V2_31 };

const fn between(first: Release, last: Release) -> ReleaseRange {
    ReleaseRange { first, last }
}

/// All of NCCL 2.`minor`.
const fn minor(minor: u32) -> ReleaseRange {
    between(Release::new(2, minor, 0), Release::new(2, minor, 99))
}
