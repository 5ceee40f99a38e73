//! Counters of a NIC's port at one time, from files and live sources alike.

use std::borrow::Cow;
use std::net::IpAddr;

use super::time::Timestamp;

/// The values of one NIC at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterSample<'a> {
    /// When they were read.
    pub time: Timestamp,
    /// Names and addresses by which the source identifies the NIC.
    pub place: NicPlace<'a>,
    /// The device's kernel driver, such as `mlx5_core`: some names are driver-specific.
    pub driver: Option<Cow<'a, str>>,
    /// Known addresses of the port, besides that of `place`.
    pub addresses: Vec<IpAddr>,
    /// The port's link, if the source reports it.
    pub link: Option<PortLink>,
    /// What the NIC is and how it is set up, if the source reports it.
    pub setup: Option<Cow<'a, NicSetup>>,
    /// Cumulative values by raw name.
    pub values: Vec<(Cow<'a, str>, u64)>,
}

/// How a source identifies a NIC.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NicPlace<'a> {
    /// Name of its host.
    pub host: Option<Cow<'a, str>>,
    /// RDMA device.
    pub device: Option<Cow<'a, str>>,
    /// Network interface.
    pub netdev: Option<Cow<'a, str>>,
    /// An address of the port.
    pub address: Option<IpAddr>,
    /// Port of the device.
    pub port: Option<u32>,
}

/// What a NIC is and how it is set up: what hosts of one job should have alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NicSetup {
    /// Hardware as the driver names it, such as `MT4129`.
    pub model: Option<String>,
    /// Version of its firmware.
    pub firmware: Option<String>,
    /// MTU of its network interface in bytes.
    pub mtu: Option<u32>,
    /// `Ethernet` or `InfiniBand`.
    pub link_layer: Option<String>,
}

/// State and rate of a port's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortLink {
    /// Whether it carries data.
    pub state: PortState,
    /// Negotiated rate in bits per second and direction; `None` if the device reports none.
    pub rate_bps: Option<u64>,
}

/// State of a port (InfiniBand Architecture Specification volume 1, 14.2.5.6, `PortState`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortState {
    /// No link.
    Down,
    /// Link up, subnet manager not started.
    Initialize,
    /// Subnet manager in progress.
    Armed,
    /// It carries data.
    Active,
    /// Active, with a possibly temporary link error.
    ActiveDefer,
}

impl PortState {
    /// The state with this number; `None` if there is none.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Down),
            2 => Some(Self::Initialize),
            3 => Some(Self::Armed),
            4 => Some(Self::Active),
            5 => Some(Self::ActiveDefer),
            _ => None,
        }
    }

    /// The state with this name in reports.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        (1..=5).filter_map(Self::from_number).find(|state| state.name() == name)
    }

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Initialize => "initialize",
            Self::Armed => "armed",
            Self::Active => "active",
            Self::ActiveDefer => "active_defer",
        }
    }
}
