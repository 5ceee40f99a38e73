//! RDMA ports as `ibdev2netdev`, `ibv_devinfo`, `ibstat` and `rdma link` print them.

use super::{Output, Taken, TakesLines, number_in, value_of};
use crate::model::counter::PortState;
use crate::model::node::{LinkLayer, RdmaPort};

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
        ..RdmaPort::default()
    })
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

/// The blocks of `ibv_devinfo` and `ibstat`: a device, its ports, indented keys.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    device: String,
    firmware: Option<String>,
    ports: Vec<RdmaPort>,
}

impl Blocks {
    /// `hca_id: mlx5_0` or `CA 'mlx5_0'`.
    pub(super) fn begin(line: &str) -> Option<Self> {
        let device = Self::device(line)?;
        Some(Self { device: device.to_owned(), firmware: None, ports: Vec::new() })
    }

    fn device(line: &str) -> Option<&str> {
        let of_ibstat = || line.trim().strip_prefix("CA '")?.strip_suffix('\'');
        value_of(line, "hca_id").or_else(of_ibstat).filter(|device| !device.is_empty())
    }

    fn key(&mut self, key: &str, value: &str) {
        match (key, self.ports.last_mut()) {
            ("port", _) => self.port(value),
            ("fw_ver" | "Firmware version", None) => self.firmware = Some(value.to_owned()),
            ("state" | "State", Some(port)) => port.state = state_of(value),
            ("active_mtu", Some(port)) => port.active_mtu = number_in(value),
            ("max_mtu", Some(port)) => port.max_mtu = number_in(value),
            ("link_layer" | "Link layer", Some(port)) => {
                port.link_layer = LinkLayer::from_name(value);
            }
            // ibstat: gigabits per second.
            ("Rate", Some(port)) => {
                let gigabits: Option<u64> = number_in(value);
                port.rate_bps = gigabits.and_then(|rate| rate.checked_mul(1_000_000_000));
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
            ..RdmaPort::default()
        });
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
        match (of_ibstat, text.split_once(':')) {
            (Some(number), _) => self.port(number),
            (None, Some((key, value))) if line.starts_with([' ', '\t']) => {
                self.key(key.trim(), value.trim());
            }
            // Flags of `ibv_devinfo -v` stand alone on a line.
            (None, None) if line.starts_with([' ', '\t']) => {}
            _ => return Taken::End,
        }
        if self.ports.len() > PORTS { Taken::End } else { Taken::Yes }
    }

    fn finish(self) -> Option<Output> {
        (!self.ports.is_empty()).then_some(Output::Ports(self.ports))
    }
}

/// `PORT_ACTIVE (4)`, `ACTIVE`, `Active`.
fn state_of(text: &str) -> Option<PortState> {
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
