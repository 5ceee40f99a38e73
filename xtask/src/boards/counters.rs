//! Made NICs: sysfs trees whose counters rise as those of hosts with trouble do.
//!
//! Statistics of `ethtool -S` cannot be made without a driver, so those of pause stand among the files of
//! `hw_counters`; the agent knows counters by their names.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The host that is at fault: its second rail is lame and pauses its switch, its firmware is old, and it
/// uses a third NIC.
const FAULTY: usize = 1;

/// NICs of a host: two rails.
const fn rails(host: usize) -> usize {
    if host == FAULTY { 3 } else { 2 }
}

/// The counter of CNPs that a NIC sends.
const CNPS: &str = "hw_counters/np_cnp_sent";

/// Counters of each NIC and what they rise by in a second: on healthy hosts, and on the one at fault.
const COUNTERS: &[(&str, u64, u64)] = &[
    // In units of four bytes.
    ("counters/port_xmit_data", 1_250_000_000, 1_250_000_000),
    ("counters/port_rcv_data", 1_250_000_000, 1_250_000_000),
    ("counters/port_xmit_packets", 1_220_000, 1_220_000),
    ("counters/port_rcv_packets", 1_220_000, 1_220_000),
    ("counters/symbol_error", 0, 14),
    ("hw_counters/np_ecn_marked_roce_packets", 400, 61_000),
    (CNPS, 350, 30_000),
    ("hw_counters/rp_cnp_handled", 9_500, 300),
    ("hw_counters/rp_cnp_ignored", 0, 0),
    ("hw_counters/out_of_sequence", 0, 40),
    ("hw_counters/packet_seq_err", 12, 0),
    ("hw_counters/local_ack_timeout_err", 0, 3),
    ("hw_counters/rnr_nak_retry_err", 0, 5),
    ("hw_counters/out_of_buffer", 0, 25),
    ("hw_counters/duplicate_request", 0, 4),
    ("hw_counters/rx_icrc_encapsulated", 0, 0),
    ("hw_counters/rx_prio3_pause", 120, 10),
    ("hw_counters/tx_prio3_pause", 0, 5_000),
    // Microseconds.
    ("hw_counters/rx_prio3_pause_duration", 60_000, 2_000),
    ("hw_counters/tx_prio3_pause_duration", 0, 900_000),
    ("hw_counters/tx_pause_storm_warning_events", 0, 1),
    ("hw_counters/rx_discards_phy", 0, 8),
    ("hw_counters/rx_corrected_bits_phy", 900, 120_000),
];

/// The trees of some hosts.
pub(crate) struct Nics {
    trees: Vec<PathBuf>,
    /// Whether the host at fault sends CNPs for marked packets.
    sends_cnps: bool,
    /// Where files are made.
    new: PathBuf,
}

impl Nics {
    pub(crate) fn new(folder: &Path, hosts: usize, sends_cnps: bool) -> Result<Self> {
        let trees = (0..hosts).map(|host| folder.join(format!("sysfs{host}"))).collect();
        let nics = Self { trees, sends_cnps, new: folder.join("new") };
        for (host, tree) in nics.trees.iter().enumerate() {
            for rail in 0..rails(host) {
                nics.make(tree, rail, host == FAULTY)?;
            }
        }
        nics.set(0)?;
        Ok(nics)
    }

    /// The tree of a host.
    pub(crate) fn tree(&self, host: usize) -> &Path {
        &self.trees[host]
    }

    /// Sets all counters to their values after some seconds.
    pub(crate) fn set(&self, second: u64) -> Result<()> {
        for (host, tree) in self.trees.iter().enumerate() {
            for rail in 0..rails(host) {
                let port = port(tree, rail);
                let is_faulty = host == FAULTY && rail == 1;
                for (name, healthy, faulty) in COUNTERS {
                    let is_data = name.contains("data") || name.contains("packets");
                    let rise = match (is_faulty, is_data && name.starts_with("counters")) {
                        _ if host == FAULTY && *name == CNPS && !self.sends_cnps => 0,
                        // A lame rail carries a fifth.
                        (true, true) => faulty / 5,
                        (true, false) => *faulty,
                        (false, _) => *healthy,
                    };
                    self.write(&port.join(name), &(1_000_000 + rise * second).to_string())?;
                }
                // Every 12 seconds, its link is down for 3.
                let is_down = is_faulty && second % 12 >= 9;
                let flaps = if is_faulty { (second + 3) / 12 } else { 0 };
                self.write(&port.join("counters/link_downed"), &flaps.to_string())?;
                self.write(&port.join("state"), if is_down { "1: DOWN" } else { "4: ACTIVE" })?;
                let state = if is_down { "2: Polling" } else { "5: LinkUp" };
                self.write(&port.join("phys_state"), state)?;
            }
        }
        Ok(())
    }

    /// What a NIC is.
    fn make(&self, tree: &Path, rail: usize, is_faulty: bool) -> Result<()> {
        let device = tree.join(format!("class/infiniband/mlx5_{rail}"));
        let port = port(tree, rail);
        self.write(&device.join("hca_type"), "MT4129")?;
        let firmware = if is_faulty { "28.38.1002" } else { "28.39.2048" };
        self.write(&device.join("fw_ver"), firmware)?;
        let mtu = if is_faulty && rail == 1 { "1500" } else { "4200" };
        self.write(&device.join(format!("device/net/ens{rail}np0/mtu")), mtu)?;
        self.write(&port.join("link_layer"), "Ethernet")?;
        self.write(&port.join("rate"), "400 Gb/sec (4X NDR)")?;
        let driver = tree.join("bus/pci/drivers/mlx5_core");
        fs::create_dir_all(&driver).with_context(|| format!("create {}", driver.display()))?;
        let link = device.join("device/driver");
        std::os::unix::fs::symlink(&driver, &link)
            .with_context(|| format!("create {}", link.display()))
    }

    /// Replaces a file in one step, as the kernel does.
    fn write(&self, path: &Path, content: &str) -> Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        }
        fs::write(&self.new, format!("{content}\n"))
            .and_then(|()| fs::rename(&self.new, path))
            .with_context(|| format!("write {}", path.display()))
    }
}

fn port(tree: &Path, rail: usize) -> PathBuf {
    tree.join(format!("class/infiniband/mlx5_{rail}/ports/1"))
}
