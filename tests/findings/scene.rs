//! Built captures: hosts from 10.0.0.1 up, several taps, with logs and counters.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::frame::{Built, FrameBuilder};
use crate::support::ip::Ipv4;
use crate::support::pcap;
use crate::support::roce::Roce;

pub const WRITE_FIRST: u8 = 0x06;
pub const WRITE_MIDDLE: u8 = 0x07;
pub const WRITE_LAST: u8 = 0x08;
pub const SEND_ONLY: u8 = 0x04;
pub const READ_REQUEST: u8 = 0x0c;
pub const READ_RESPONSE_FIRST: u8 = 0x0d;
pub const READ_RESPONSE_MIDDLE: u8 = 0x0e;
pub const READ_RESPONSE_LAST: u8 = 0x0f;
pub const ACK: u8 = 0x11;
pub const CNP: u8 = 0x81;

/// Syndromes: an ACK, and a NAK for a remote access error.
pub const ACKNOWLEDGED: u8 = 0x1f;
pub const REMOTE_ACCESS_ERROR: u8 = 0x62;

/// DSCP 26 with ECT(0) and with CE, and the same DSCP without ECN.
pub const ECT: u8 = 26 << 2 | 0b10;
pub const CE: u8 = 26 << 2 | 0b11;
pub const NOT_ECT: u8 = 26 << 2;

/// Payload of a full packet, bytes.
pub const PAYLOAD: usize = 1024;

/// Captures by tap, and files passed with them.
#[derive(Default)]
pub struct Scene {
    taps: Vec<Vec<(u64, Built)>>,
    files: Vec<(&'static str, &'static str, String)>,
    now_ns: u64,
    next_id: u16,
}

#[derive(Clone, Copy)]
pub struct Packet {
    pub from: u8,
    pub to: u8,
    pub qpn: u32,
    pub opcode: u8,
    pub psn: u32,
    pub tos: u8,
    pub syndrome: u8,
    pub payload: usize,
    pub partition_key: u16,
}

impl Packet {
    /// A data packet with ECT(0).
    pub fn new(from: u8, to: u8, opcode: u8, psn: u32) -> Self {
        Self {
            from,
            to,
            qpn: 0x100 + u32::from(to),
            opcode,
            psn,
            tos: ECT,
            syndrome: ACKNOWLEDGED,
            payload: PAYLOAD,
            partition_key: 0xffff,
        }
    }
}

impl Scene {
    /// Advances the time.
    pub fn wait(&mut self, ns: u64) -> &mut Self {
        self.now_ns += ns;
        self
    }

    /// Adds a frame at a tap.
    pub fn frame(&mut self, tap: usize, built: Built) -> &mut Self {
        self.now_ns += 1_000;
        while self.taps.len() <= tap {
            self.taps.push(Vec::new());
        }
        self.taps[tap].push((self.now_ns, built));
        self
    }

    /// Adds a packet at a tap.
    pub fn packet(&mut self, tap: usize, packet: Packet) -> &mut Self {
        self.next_id = self.next_id.wrapping_add(1);
        let ip = Ipv4 {
            source: [10, 0, 0, packet.from],
            destination: [10, 0, 0, packet.to],
            tos: packet.tos,
            identification: self.next_id,
            ..Ipv4::default()
        };
        let roce = Roce {
            dest_qpn: packet.qpn,
            psn: packet.psn,
            syndrome: packet.syndrome,
            partition_key: packet.partition_key,
            ack_request: packet.opcode == WRITE_LAST,
            dma_len: 3 * PAYLOAD as u32,
            ..Roce::new(packet.opcode, packet.payload)
        };
        let frame = FrameBuilder::ethernet().ipv4(&ip).udp(50_000, 4791).roce(&roce).finish();
        self.frame(tap, frame)
    }

    /// Adds a message of three packets, starting at PSN `psn`, and its ACK, at one tap.
    pub fn message(&mut self, tap: usize, like: Packet) -> &mut Self {
        for (opcode, psn) in [(WRITE_FIRST, 0), (WRITE_MIDDLE, 1), (WRITE_LAST, 2)] {
            self.packet(tap, Packet { opcode, psn: like.psn + psn, ..like });
        }
        let ack = Packet {
            from: like.to,
            to: like.from,
            qpn: 0x200 + u32::from(like.from),
            opcode: ACK,
            psn: like.psn + 2,
            ..like
        };
        self.packet(tap, ack)
    }

    pub fn messages(&mut self, tap: usize, like: Packet, count: u32) -> &mut Self {
        for at in 0..count {
            self.message(tap, Packet { psn: like.psn + 3 * at, ..like });
        }
        self
    }

    /// A TCP segment without payload.
    pub fn tcp(
        &mut self,
        [from, to]: [u8; 2],
        [source, destination]: [u16; 2],
        flags: u8,
    ) -> &mut Self {
        let ip = Ipv4 { source: [10, 0, 0, from], destination: [10, 0, 0, to], ..Ipv4::default() };
        let mut header = source.to_be_bytes().to_vec();
        header.extend(destination.to_be_bytes());
        header.extend([0, 0, 0, 1, 0, 0, 0, 0, 5 << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
        let mut frame = FrameBuilder::ethernet().ipv4(&ip).bytes(&header).finish();
        // Protocol 6, in the IPv4 header after 14 bytes of Ethernet.
        frame.bytes[14 + 9] = 6;
        self.frame(0, frame)
    }

    /// A file passed with `option`.
    pub fn beside(&mut self, option: &'static str, name: &'static str, text: &str) -> &mut Self {
        self.files.push((option, name, text.to_owned()));
        self
    }

    pub fn report(&self) -> Value {
        self.report_with(&[])
    }

    /// The report with more arguments.
    pub fn report_with(&self, arguments: &[&str]) -> Value {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_railscope"));
        command.args(["analyze", "--format", "json"]).args(arguments);
        for (at, frames) in self.taps.iter().enumerate() {
            let mut capture = pcap::header(1, 65_535);
            for (ns, frame) in frames {
                pcap::record(&mut capture, pcap::FIRST_NS + ns, &frame.bytes, frame.bytes.len());
            }
            let path = folder.path().join(format!("tap{at}.pcap"));
            std::fs::write(&path, capture).unwrap();
            command.arg(path);
        }
        for (option, name, text) in &self.files {
            let path: PathBuf = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            command.arg(option).arg(path);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// The findings with this id.
pub fn found<'a>(report: &'a Value, id: &str) -> Vec<&'a Value> {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().filter(|finding| finding["id"] == id).collect()
}

/// The only finding with this id.
pub fn only<'a>(report: &'a Value, id: &str) -> &'a Value {
    let all = found(report, id);
    assert_eq!(all.len(), 1, "{id}: {:#}", report["findings"]);
    all[0]
}

/// Ids of the findings of a bad severity.
pub fn bad(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap();
    let bad = findings.iter().filter(|finding| finding["severity"] != "info");
    bad.map(|finding| format!("{}: {}", finding["id"], finding["title"])).collect()
}
