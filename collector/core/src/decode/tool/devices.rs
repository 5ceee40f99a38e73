//! RDMA ports as `ibdev2netdev`, `ibv_devinfo`, `ibstat`, `ibstatus` and `rdma link` print them.

use super::{Output, Taken, TakesLines, number_in, value_of};
use crate::model::counter::PortState;
use crate::model::node::{Gid, LinkLayer, RdmaPort, RoceVersion};

/// `mlx5_0 port 1 ==> ens1f0 (Up)` of MLNX_OFED's `ibdev2netdev`; with `-v`, the PCI address, the
/// model and the firmware stand before and between.
pub(super) fn ibdev2netdev(line: &str) -> Option<RdmaPort> {
    let (left, right) = line.split_once("==>")?;
    let (before, after) = left.split_once(" port ")?;
    let mut after = after.split_whitespace();
    let number = after.next()?.parse().ok()?;
    let port_state = after.next().and_then(|word| state_of(word.trim_matches(['(', ')'])));
    let mut right = right.split_whitespace();
    let netdev = right.next()?.to_owned();
    let is_up = right.next()?.trim_matches(['(', ')']).eq_ignore_ascii_case("up");
    let device = before.split_whitespace().find(|word| !word.contains([':', '(']))?;
    let mut words = before.split_whitespace();
    let firmware = words.find(|word| *word == "fw" || *word == "FW").and_then(|_| words.next());
    // An interface of IPoIB may be down while the port carries RDMA.
    let is_ipoib = netdev.starts_with("ib");
    let by_netdev = match is_up {
        true => Some(PortState::Active),
        false => (!is_ipoib).then_some(PortState::Down),
    };
    Some(RdmaPort {
        device: device.to_owned(),
        number,
        netdev: Some(netdev),
        state: port_state.or(by_netdev),
        is_state_of_netdev: port_state.is_none(),
        firmware: firmware.map(str::to_owned),
        model: model_of(before),
        ..RdmaPort::default()
    })
}

/// `MT4129` of `(MT4129 - CX713106A)`.
fn model_of(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('(')?;
    rest.split([' ', ')']).next().filter(|model| !model.is_empty()).map(str::to_owned)
}

/// `link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0` of iproute2's `rdma link`.
pub(super) fn rdma_link(line: &str) -> Option<RdmaPort> {
    let rest = line.trim_start();
    // Before iproute2 5.0, lines began with the device's number: `1/1: mlx5_0/1: state ACTIVE`.
    let rest =
        rest.strip_prefix("link ").or_else(|| rest.split_once(": ").map(|(_, rest)| rest))?;
    let mut words = rest.split_whitespace();
    let (device, number) = words.next()?.trim_end_matches(':').split_once('/')?;
    let number = number.parse().ok()?;
    let mut port = RdmaPort { device: device.to_owned(), number, ..RdmaPort::default() };
    while let Some((key, value)) = words.next().zip(words.next()) {
        match key {
            "state" => port.state = state_of(value),
            "netdev" => port.netdev = Some(value.to_owned()),
            "subnet_prefix" => port.link_layer = Some(LinkLayer::InfiniBand),
            _ => {}
        }
    }
    port.state?;
    Some(port)
}

/// Most ports of a device that are read.
const PORTS: usize = 256;

/// The blocks of `ibv_devinfo`, `ibstat` and `ibstatus`: a device, its ports, keys below them.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    device: String,
    firmware: Option<String>,
    model: Option<String>,
    ports: Vec<RdmaPort>,
    gids: Vec<Gid>,
    /// Lanes of the last port, for the speed that follows.
    lanes: Option<u64>,
}

/// Most GIDs of a device that are read.
const GIDS: usize = 4096;

/// Keys as they stand without indentation in what was pasted from a page.
// tidy: table
const KEYS: &[&str] = &[
    "Base lid",
    "CA type",
    "Capability mask",
    "Firmware version",
    "Hardware version",
    "LMC",
    "Link layer",
    "Node GUID",
    "Number of ports",
    "Physical state",
    "Port GUID",
    "Rate",
    "SM lid",
    "State",
    "System image GUID",
    "active_mtu",
    "base lid",
    "board_id",
    "default gid",
    "fw_ver",
    "hw_ver",
    "link_layer",
    "max_mtu",
    "node_guid",
    "phys state",
    "phys_port_cnt",
    "port",
    "port_lid",
    "port_lmc",
    "rate",
    "sm lid",
    "sm_lid",
    "state",
    "sys_image_guid",
    "transport",
    "vendor_id",
    "vendor_part_id",
];

impl Blocks {
    /// `hca_id: mlx5_0`, `CA 'mlx5_0'` or `Infiniband device 'mlx5_0' port 1 status:`.
    pub(super) fn begin(line: &str) -> Option<Self> {
        let device = Self::device(line)?;
        let mut reader = Self {
            device: device.to_owned(),
            firmware: None,
            model: None,
            ports: Vec::new(),
            gids: Vec::new(),
            lanes: None,
        };
        if let Some((_, number)) = of_ibstatus(line) {
            reader.port(number);
        }
        Some(reader)
    }

    fn device(line: &str) -> Option<&str> {
        let of_ibstat = || line.trim().strip_prefix("CA '")?.strip_suffix('\'');
        let device = value_of(line, "hca_id").or_else(of_ibstat);
        let device = device.or_else(|| of_ibstatus(line).map(|(device, _)| device));
        device.filter(|device| !device.is_empty())
    }

    fn key(&mut self, key: &str, value: &str) {
        if let Some(index) = key.strip_prefix("GID[") {
            self.gid(index, value);
            return;
        }
        match (key, self.ports.last_mut()) {
            ("port", _) => self.port(value),
            ("fw_ver" | "Firmware version", None) => self.firmware = Some(value.to_owned()),
            ("CA type" | "board_id", None) => self.model = Some(value.to_owned()),
            ("state" | "State", Some(port)) => port.state = state_of(value),
            ("active_mtu", Some(port)) => port.active_mtu = number_in(value),
            ("max_mtu", Some(port)) => port.max_mtu = number_in(value),
            ("link_layer" | "Link layer", Some(port)) => {
                port.link_layer = LinkLayer::from_name(value);
            }
            // ibstat and ibstatus: gigabits per second.
            ("Rate" | "rate", Some(port)) => {
                let gigabits: Option<u64> = number_in(value);
                port.rate_bps = gigabits.and_then(|rate| rate.checked_mul(1_000_000_000));
            }
            ("active_width", Some(_)) => self.lanes = number_in(value),
            ("active_speed", Some(port)) => {
                let lane = tenths_of_gigabits(value);
                let rate = lane
                    .zip(self.lanes.take())
                    .and_then(|(lane, lanes)| lane.checked_mul(lanes)?.checked_mul(100_000_000));
                port.rate_bps = rate;
            }
            _ => {}
        }
    }

    fn port(&mut self, number: &str) {
        let Some(number) = number_in(number) else { return };
        self.ports.push(RdmaPort {
            device: self.device.clone(),
            number,
            firmware: self.firmware.clone(),
            model: self.model.clone(),
            ..RdmaPort::default()
        });
    }

    /// `GID[  3]: ::ffff:10.0.0.2, RoCE v2`; older releases print no type, and then RoCE v1 and v2 look the
    /// same.
    fn gid(&mut self, index: &str, value: &str) {
        let Some((gid, kind)) = value.split_once(", ") else { return };
        let version = match kind.trim() {
            "RoCE v2" => Some(RoceVersion::V2),
            "RoCE v1" | "IB/RoCE v1" => Some(RoceVersion::V1),
            _ => return,
        };
        let index = index.trim_end_matches(']').trim().parse().ok();
        let known = gid.trim().parse().ok().zip(index).zip(self.ports.last());
        if let Some(((gid, index), port)) = known.filter(|_| self.gids.len() < GIDS) {
            let device = self.device.clone();
            self.gids.push(Gid { device, port: port.number, index, gid, version, netdev: None });
        }
    }
}

impl TakesLines for Blocks {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        if text.is_empty() {
            return Taken::Yes;
        }
        if Self::device(line).is_some() {
            return Taken::End;
        }
        let of_ibstat = text.strip_prefix("Port ").and_then(|rest| rest.strip_suffix(':'));
        let is_indented = line.starts_with([' ', '\t']);
        match (of_ibstat, text.split_once(':')) {
            (Some(number), _) => self.port(number),
            (None, Some((key, value))) if is_indented || KEYS.contains(&key.trim()) => {
                self.key(key.trim(), value.trim());
            }
            // Flags of `ibv_devinfo -v` stand alone on a line.
            (None, None) if is_indented => {}
            _ => return Taken::End,
        }
        if self.ports.len() > PORTS { Taken::End } else { Taken::Yes }
    }

    fn finish(self) -> Option<Output> {
        (!self.ports.is_empty()).then_some(Output::Ports(self.ports, self.gids))
    }
}

/// Device and port of `Infiniband device 'mlx5_0' port 1 status:`.
fn of_ibstatus(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim().strip_prefix("Infiniband device '")?.strip_suffix(" status:")?;
    rest.split_once("' port ")
}

/// `25.0 Gbps (32)` in tenths.
fn tenths_of_gigabits(text: &str) -> Option<u64> {
    let number = text.split_whitespace().next()?;
    let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
    let tenth = tenth.get(..1)?.parse::<u64>().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(10)?.checked_add(tenth)
}

/// `PORT_ACTIVE (4)`, `ACTIVE`, `Active`, `4: ACTIVE`.
fn state_of(text: &str) -> Option<PortState> {
    let text = text.split_once(": ").map_or(text, |(_, name)| name);
    let name = text.split_whitespace().next()?.trim_start_matches("PORT_");
    match name {
        _ if name.eq_ignore_ascii_case("active") => Some(PortState::Active),
        _ if name.eq_ignore_ascii_case("down") => Some(PortState::Down),
        _ if name.eq_ignore_ascii_case("init") => Some(PortState::Initialize),
        _ if name.eq_ignore_ascii_case("initializing") => Some(PortState::Initialize),
        _ if name.eq_ignore_ascii_case("armed") => Some(PortState::Armed),
        _ if name.eq_ignore_ascii_case("active_defer") => Some(PortState::ActiveDefer),
        _ => None,
    }
}
