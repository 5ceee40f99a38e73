//! What was measured: a row per host, with a cell per host that it measured with.

use serde::{Deserialize, Serialize};

/// An RDMA port of a host; its place in the host's list is its rail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// `mlx5_0`
    pub name: String,
    /// Port number, from 1.
    pub port: u8,
    /// The address it sends from.
    pub address: String,
    /// Index of that address in the port's GID table.
    pub gid_index: u8,
    /// Whether the host's CPUs do what a NIC would: soft-RoCE (rxe).
    #[serde(default)]
    pub is_software: bool,
}

/// What one direction of a pair showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Median round trip in µs.
    pub rtt_us: Option<f64>,
    /// Round trip in µs that a tenth of them do not exceed: what the path takes, though a busy host
    /// lets others wait.
    pub rtt_p10_us: Option<f64>,
    /// Gb/s of payload.
    pub gbps: Option<f64>,
    /// Why something is missing.
    pub error: Option<String>,
}

/// From a device of the sender to a device of the receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RailProbe {
    /// Rail of the sender.
    pub from: u8,
    /// Rail of the receiver.
    pub to: u8,
    /// What it showed.
    #[serde(flatten)]
    pub probe: Probe,
}

/// One direction of a pair of hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Index of the receiver.
    pub to: usize,
    /// Why the sender could not connect to the receiver's port; `None` if it could.
    pub connect: Option<String>,
    /// Over TCP.
    pub tcp: Probe,
    /// Over RDMA, by pair of devices.
    pub rails: Vec<RailProbe>,
}

/// What a host measured as a sender.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// Its RDMA ports, in the order of rails.
    pub devices: Vec<Device>,
    /// Why it measured nothing over RDMA, or which ports it left out.
    pub rdma_note: Option<String>,
    /// A cell per host that it met.
    pub cells: Vec<Cell>,
}

/// A host of the command line that did not take part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Absence {
    /// Index of the host.
    pub host: usize,
    /// What was tried last, and what came of it.
    pub why: String,
    /// Whether its name has no address here.
    pub is_unresolved: bool,
}

/// All that is known when the rounds are over.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Matrix {
    /// Names, as on the command line.
    pub hosts: Vec<String>,
    /// By host; `None` where its row never came.
    pub rows: Vec<Option<Row>>,
    /// Hosts that did not come.
    pub absent: Vec<Absence>,
}

impl Matrix {
    /// The cell of a direction, if it was measured.
    #[must_use]
    pub fn cell(&self, from: usize, to: usize) -> Option<&Cell> {
        self.rows.get(from)?.as_ref()?.cells.iter().find(|cell| cell.to == to)
    }

    /// The name of a host.
    #[must_use]
    pub fn name(&self, host: usize) -> &str {
        self.hosts.get(host).map_or("?", String::as_str)
    }

    /// The device of a host's rail.
    #[must_use]
    pub fn device(&self, host: usize, rail: u8) -> Option<&Device> {
        self.rows.get(host)?.as_ref()?.devices.get(usize::from(rail))
    }

    /// The figure of each direction that `read` finds.
    #[must_use]
    pub fn grid(&self, read: impl Fn(&Cell) -> Option<f64>) -> Grid {
        let hosts = self.hosts.len();
        let mut grid = Grid::new(hosts);
        for (from, row) in self.rows.iter().enumerate() {
            for cell in row.iter().flat_map(|row| &row.cells) {
                grid.set(from, cell.to, read(cell));
            }
        }
        grid
    }
}

/// A figure per direction, senders in rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    hosts: usize,
    values: Vec<Option<f64>>,
}

impl Grid {
    /// Without any figure.
    #[must_use]
    pub fn new(hosts: usize) -> Self {
        Self { hosts, values: vec![None; hosts * hosts] }
    }

    /// How many hosts it has.
    #[must_use]
    pub const fn hosts(&self) -> usize {
        self.hosts
    }

    /// The figure of a direction.
    #[must_use]
    pub fn get(&self, from: usize, to: usize) -> Option<f64> {
        if to >= self.hosts {
            return None;
        }
        self.values.get(from * self.hosts + to).copied().flatten()
    }

    /// Sets the figure of a direction; out of range nothing happens.
    pub fn set(&mut self, from: usize, to: usize, value: Option<f64>) {
        if to >= self.hosts || from == to {
            return;
        }
        if let Some(place) = self.values.get_mut(from * self.hosts + to) {
            *place = value;
        }
    }

    /// All directions that have a figure.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let hosts = self.hosts.max(1);
        let known = self.values.iter().enumerate();
        known.filter_map(move |(place, value)| Some((place / hosts, place % hosts, (*value)?)))
    }
}
