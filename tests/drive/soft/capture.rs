//! Packets of real sockets, captured on the loopback interface and read by tshark and an
//! independent script.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use railscope_drive::clock::Deadline;

use super::sockets::{Couple, address, moves};
use crate::support::{require, tshark};

const TEST: &str = "drive::soft::capture";

/// tcpdump on the loopback interface, already listening.
struct Tcpdump(Child);

impl Tcpdump {
    /// `None` without permission to capture.
    fn start(file: &Path, host: &str) -> Option<Self> {
        let mut command = Command::new("tcpdump");
        // A ring slot is as large as the snap length: there is room for thousands of packets.
        command.args(["-i", "lo", "-U", "--immediate-mode", "-s", "5000", "-B", "65536"]);
        command.arg("-w").arg(file);
        command.args(["udp", "port", "4791", "and", "host", host]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let listens = said.take(8).any(|line| line.contains("listening on"));
        if !listens {
            child.wait().unwrap();
        }
        listens.then_some(Self(child))
    }

    /// Stops once the file has `frames` frames, or will never have them.
    fn stop(mut self, file: &Path, frames: u64) {
        let deadline = Deadline::after(Duration::from_secs(20));
        while count(file) < frames && !deadline.left().is_zero() {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Complete records of a pcap file.
fn count(file: &Path) -> u64 {
    let bytes = std::fs::read(file).unwrap();
    let mut rest = bytes.get(24..).unwrap_or_default();
    let mut records = 0;
    while let Some((header, behind)) = rest.split_first_chunk::<16>() {
        let kept = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
        let Some(next) = behind.get(kept..) else { break };
        (rest, records) = (next, records + 1);
    }
    records
}

#[test]
fn tshark_reads_every_packet_and_every_icrc_is_right() {
    if !["tcpdump", "tshark", "python3"].into_iter().all(|tool| require::has(TEST, tool)) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (pair, mtu) in [(4, 1024), (5, 4096)] {
        let file = folder.path().join(format!("{mtu}.pcap"));
        let Some(tcpdump) = Tcpdump::start(&file, &address(2 * pair + 1).to_string()) else {
            require::lacks(TEST, "permission to capture");
            return;
        };
        let mut couple = Couple::new(pair, mtu, &[]);
        moves(&mut couple);
        let counters = couple.counters();
        let sent = counters[0].packets_sent + counters[1].packets_sent;
        tcpdump.stop(&file, sent);
        as_sent(&file, &couple, sent);
        icrcs_are_right(&file, sent);
    }
}

/// Every packet is in the capture, whole and as the adapters built it.
fn as_sent(file: &Path, couple: &Couple, sent: u64) {
    const FIELDS: [&str; 12] = [
        "ip.id",
        "ip.flags.df",
        "ip.ttl",
        "ip.dsfield",
        "udp.srcport",
        "udp.checksum",
        "infiniband.bth.opcode",
        "infiniband.bth.destqp",
        "infiniband.bth.psn",
        "infiniband.bth.p_key",
        "infiniband.reth.dmalen",
        "_ws.malformed",
    ];
    let frames = tshark::fields(file, &FIELDS);
    assert_eq!(frames.len() as u64, sent);
    let number = |text: &String| tshark::number(text);
    let source_port = railscope_drive::rdma::soft::adapter::source_port;
    let port = source_port(couple.qpns[0], couple.qpns[1]);
    let mut psn = 0;
    let mut lengths = Vec::new();
    for frame in &frames {
        let [id, _, ttl, class, from, checksum, opcode, qpn, at, key, length, malformed] =
            frame.as_slice()
        else {
            panic!("{frame:?}");
        };
        assert_eq!(malformed, "", "{frame:?}");
        let header = [id, ttl, class, from, checksum, key].map(number);
        let expected = [0, 64, 2, u64::from(port), 0, 0xffff].map(Some);
        assert_eq!(header, expected, "{frame:?}");
        assert!(["1", "True"].contains(&frame[1].as_str()), "don't fragment: {frame:?}");
        if number(qpn) == Some(u64::from(couple.qpns[0])) {
            assert_eq!(number(opcode), Some(0x11), "only ACKs go back");
            continue;
        }
        assert_eq!((number(qpn), number(at)), (Some(u64::from(couple.qpns[1])), Some(psn)));
        assert!((0x06..=0x0b).contains(&number(opcode).unwrap()));
        psn += 1;
        lengths.extend(number(length));
    }
    assert_eq!(lengths, super::sockets::SIZES.map(|bytes| bytes as u64));
}

fn icrcs_are_right(file: &Path, sent: u64) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/icrc.py");
    let output = Command::new("python3").arg(script).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), format!("{sent} 0"));
}
