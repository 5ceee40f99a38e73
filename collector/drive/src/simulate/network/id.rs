//! Numbers of the parts of a network: NICs, switches, links, ports, taps, priorities.

/// A NIC: its index in `NetworkPlan::nics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NicId(pub u32);

/// A switch: its index in `NetworkPlan::switches`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SwitchId(pub u32);

/// A link: its index in `NetworkPlan::links`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// A tap: its index in `NetworkPlan::taps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TapId(pub u32);

/// The node at the end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeId {
    /// A NIC of a host.
    Nic(NicId),
    /// A switch of the fabric.
    Switch(SwitchId),
}

/// A port: one end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(u32);

impl PortId {
    /// The port at the first end of `link`.
    pub const fn first(link: LinkId) -> Self {
        Self(link.0 * 2)
    }

    /// The port at the second end of `link`.
    pub const fn second(link: LinkId) -> Self {
        Self(link.0 * 2 + 1)
    }

    /// The port at the other end of the link.
    pub const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// The link it belongs to.
    pub const fn link(self) -> LinkId {
        LinkId(self.0 / 2)
    }

    /// 0 at the first end of the link, 1 at the second: its index in `LinkPlan::ends`.
    pub const fn end(self) -> usize {
        (self.0 % 2) as usize
    }

    /// The port with this index; each link has two.
    pub(super) const fn at(number: u32) -> Self {
        Self(number)
    }

    /// The inverse of [`Self::at`].
    pub(super) const fn number(self) -> u32 {
        self.0
    }
}

/// Number of priorities in IEEE 802.1Q.
pub const PRIORITIES: usize = 8;

/// A set of priorities: bit n is priority n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrioritySet(pub u8);

impl PrioritySet {
    /// A set of one.
    pub const fn only(priority: u8) -> Self {
        Self(1 << (priority & 7))
    }

    /// Whether `priority` is in it.
    pub const fn contains(self, priority: u8) -> bool {
        self.0 & (1 << (priority & 7)) != 0
    }
}
