//! NIC counters over time, one JSON object per line and NIC.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map as Object, Value};

use super::epoch::epoch_ns;
use super::network::Network;
use super::network::counters::NicCounters;
use super::network::id::NicId;
use super::scenario::map::Map;
use crate::{DriveError, Result};

/// Writes samples of all NICs' counters to a file of JSON lines.
#[derive(Debug)]
pub struct CountersFile {
    path: PathBuf,
    out: BufWriter<File>,
}

#[derive(Serialize)]
struct Sample<'a> {
    time_ns: u64,
    host: &'a str,
    device: &'a str,
    address: String,
    counters: Object<String, Value>,
}

impl CountersFile {
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(DriveError::io(path.display().to_string()))?;
        Ok(Self { path: path.to_owned(), out: BufWriter::new(file) })
    }

    /// Writes the counters of all NICs.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn sample(&mut self, map: &Map, network: &Network) -> Result<()> {
        for (place, nic) in (0..).zip(&map.nics) {
            let Some(counters) = network.counters(NicId(place)) else { continue };
            let sample = Sample {
                time_ns: epoch_ns(network.now()),
                host: &nic.host_name(),
                device: &nic.device(),
                address: nic.address.to_string(),
                counters: named(&counters),
            };
            let written = serde_json::to_writer(&mut self.out, &sample)
                .map_err(std::io::Error::from)
                .and_then(|()| self.out.write_all(b"\n"));
            written.map_err(DriveError::io(format!("write {}", self.path.display())))?;
        }
        Ok(())
    }

    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> Result<()> {
        self.out.flush().map_err(DriveError::io(format!("write {}", self.path.display())))
    }
}

/// Counters under the names of `ethtool -S` and sysfs.
fn named(counters: &NicCounters) -> Object<String, Value> {
    let plain = [
        ("np_cnp_sent", counters.np_cnp_sent),
        ("np_ecn_marked_roce_packets", counters.np_ecn_marked_roce_packets),
        ("rp_cnp_handled", counters.rp_cnp_handled),
        ("rp_cnp_ignored", counters.rp_cnp_ignored),
        ("out_of_sequence", counters.out_of_sequence),
        ("packet_seq_err", counters.packet_seq_err),
        ("local_ack_timeout_err", counters.local_ack_timeout_err),
        ("duplicate_request", counters.duplicate_request),
        ("rx_discards_phy", counters.rx_discards_phy),
        ("rx_vport_rdma_unicast_bytes", counters.rx_vport_rdma_unicast_bytes),
        ("rx_vport_rdma_unicast_packets", counters.rx_vport_rdma_unicast_packets),
        ("tx_vport_rdma_unicast_bytes", counters.tx_vport_rdma_unicast_bytes),
        ("tx_vport_rdma_unicast_packets", counters.tx_vport_rdma_unicast_packets),
        ("link_down_events_phy", counters.link_down_events_phy),
    ];
    let by_priority = [
        ("rx", "buf_discard", &counters.rx_prio_buf_discard),
        ("rx", "pause", &counters.rx_prio_pause),
        ("rx", "pause_duration", &counters.rx_prio_pause_duration),
        ("rx", "pause_transition", &counters.rx_prio_pause_transition),
        ("tx", "pause", &counters.tx_prio_pause),
        ("tx", "pause_duration", &counters.tx_prio_pause_duration),
    ];
    let plain = plain.into_iter().map(|(name, value)| (name.to_owned(), value.into()));
    let by_priority = by_priority.into_iter().flat_map(|(way, what, values)| {
        let name = move |priority: usize| format!("{way}_prio{priority}_{what}");
        values.iter().enumerate().map(move |(priority, value)| (name(priority), (*value).into()))
    });
    plain.chain(by_priority).collect()
}
