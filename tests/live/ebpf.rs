//! The kernel programs' view of a recorded job equals the recording.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use glob::Pattern;
use railscope::ingest::ebpf::{Ebpf, EbpfConfig, ProgramCost};
use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;
use railscope::ingest::live::{LiveEvent, LiveSource};
use railscope_core::decode::frame;
use railscope_core::decode::packet::{Body, TcpFlags};
use railscope_core::flow::tcp_stream::streams::{TcpConfig, TcpStreams};
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::frame::Frame;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::tap::TapId;
use railscope_core::pipeline::{Pipeline, PipelineConfig};
use railscope_core::report::communicators::CommunicatorReport;
use railscope_core::report::{Detail, Report, ReportContext};
use serde::Serialize;
use serde_json::Value;

use crate::support::clock::now;
use crate::support::recording::Recording;
use crate::support::streams::Recorder;
use crate::support::{pcap, require};

/// Where the programs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    TrafficControl,
    /// As at a mirror port.
    Driver,
}

/// What is said of a mirror port.
pub(super) const IN_DRIVER: &str = "far is read in its driver";

/// A network namespace with a veth pair, removed with the test.
pub(super) struct Wire(String);

impl Wire {
    pub(super) fn new(name: &str) -> Self {
        let wire = Self(format!("railscope-test-{name}-{}", std::process::id()));
        let namespace = wire.0.as_str();
        run(&["ip", "netns", "add", namespace]);
        run(&[
            "ip", "-n", namespace, "link", "add", "near", "mtu", "65535", "type", "veth", "peer",
            "name", "far", "mtu", "65535",
        ]);
        for end in ["near", "far"] {
            let key = format!("net.ipv6.conf.{end}.disable_ipv6=1");
            run(&["ip", "netns", "exec", namespace, "sysctl", "-qw", &key]);
            run(&["ip", "-n", namespace, "link", "set", end, "up"]);
        }
        wire
    }

    pub(super) fn path(&self) -> PathBuf {
        Path::new("/var/run/netns").join(&self.0)
    }

    /// The interface index of one of its ends.
    pub(super) fn index(&self, end: &str) -> u32 {
        let arguments = ["-n", &self.0, "-oneline", "link", "show", end];
        let line = Command::new("ip").args(arguments).output().unwrap().stdout;
        String::from_utf8(line).unwrap().split(':').next().unwrap().parse().unwrap()
    }

    /// Sends the frames of captures into the near end.
    pub(super) fn replay(&self, captures: &[PathBuf]) {
        assert!(self.start_replay(captures).wait().unwrap().success());
    }

    fn start_replay(&self, captures: &[PathBuf]) -> Child {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/live/replay.py");
        Command::new("ip")
            .args(["netns", "exec", &self.0, "python3", script, "near"])
            .args(captures)
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// The Ethernet address of one of its ends.
    pub(super) fn address(&self, end: &str) -> [u8; 6] {
        let path = format!("/sys/class/net/{end}/address");
        let arguments = ["netns", "exec", &self.0, "cat", &path];
        let text = Command::new("ip").args(arguments).output().unwrap().stdout;
        let text = String::from_utf8(text).unwrap();
        let byte = |two| u8::from_str_radix(two, 16).unwrap();
        text.trim().split(':').map(byte).collect::<Vec<_>>().try_into().unwrap()
    }

    /// The programs at the far end.
    pub(super) fn observe(&self) -> Ebpf {
        self.observe_at(Hook::TrafficControl)
    }

    /// The programs at the far end, at a hook.
    pub(super) fn observe_at(&self, hook: Hook) -> Ebpf {
        Ebpf::open(&EbpfConfig {
            interfaces: vec!["far".to_owned()],
            namespace: Some(self.path()),
            promiscuous: false,
            mirrors: match hook {
                Hook::TrafficControl => Vec::new(),
                Hook::Driver => vec![Pattern::new("far").unwrap()],
            },
            ring_mebibytes: 64,
            stream_limit: 1 << 20,
            logs: false,
        })
        .unwrap()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

fn run(words: &[&str]) {
    let status = Command::new(words[0]).args(&words[1..]).status().unwrap();
    assert!(status.success(), "{words:?}");
}

pub(super) fn pipeline() -> Pipeline {
    let flow = FlowConfig { flow_capacity: 10_000, line_rate_bps: None, keeps_details: false };
    Pipeline::new(PipelineConfig { flow, message_capacity: Some(1 << 20) })
}

pub(super) fn finish(pipeline: Pipeline) -> Report {
    pipeline.finish(ReportContext { detail: Detail::Full, ..Default::default() })
}

/// The report on captures, read as one tap.
pub(super) fn offline(captures: &[PathBuf]) -> Report {
    let mut captures = CaptureSet::open(captures).unwrap();
    let mut pipeline = pipeline();
    let mut taps = 0;
    while let Some(event) = captures.next_event() {
        match event {
            SourceEvent::Tap(_, tap) => {
                if taps == 0 {
                    pipeline.add_tap(tap);
                }
                taps += 1;
            }
            SourceEvent::Frame(frame) => {
                pipeline.handle_frame(&Frame { tap: TapId(0), ..frame });
            }
            _ => {}
        }
    }
    finish(pipeline)
}

/// Sends the frames of captures into the wire; returns what the programs at its far end report.
pub(super) fn replay(
    wire: &Wire,
    source: &mut Ebpf,
    captures: &[PathBuf],
    sink: &mut dyn FnMut(LiveEvent<'_>),
) {
    let mut replay = wire.start_replay(captures);
    let begun = now();
    let mut ended = None;
    // The last events are in the ring buffer for at most one sleep of the reader.
    while ended.is_none_or(|ended: Instant| ended.elapsed() < Duration::from_millis(300)) {
        assert!(begun.elapsed() < Duration::from_secs(60), "the replay hangs");
        source.poll(Duration::from_millis(20), sink).unwrap();
        if ended.is_none() && replay.try_wait().unwrap().is_some() {
            ended = Some(now());
        }
    }
    assert!(replay.wait().unwrap().success());
}

/// The report on the same frames seen live, the number of events, and what the programs cost.
pub(super) fn live(
    wire: &Wire,
    hook: Hook,
    captures: &[PathBuf],
) -> (Report, u64, Vec<ProgramCost>) {
    let mut source = wire.observe_at(hook);
    let mut pipeline = pipeline();
    let mut events = 0;
    replay(wire, &mut source, captures, &mut |event| match event {
        LiveEvent::Tap(tap) => pipeline.add_tap(tap),
        LiveEvent::Frame(frame) => {
            events += 1;
            pipeline.handle_frame(&frame);
        }
        LiveEvent::Run(run, frame) => {
            events += 1;
            pipeline.handle_run(&run, &frame);
        }
        // The control plane of other programs.
        LiveEvent::Missed { event: HealthEvent::EbpfUnusedFrames, .. } => {}
        LiveEvent::Missed { event, count } => panic!("{}: {count}", event.name()),
        LiveEvent::Warning(line) if hook == Hook::Driver && line.contains(IN_DRIVER) => {}
        other => panic!("{other:?}"),
    });
    let costs = source.costs();
    (finish(pipeline), events, costs)
}

/// A segment from 10.0.0.1 to 10.0.0.2, with its Ethernet header.
fn segment(sequence: u32, flags: TcpFlags, payload: usize) -> Vec<u8> {
    let mut bytes = vec![0x02; 12];
    bytes.extend([0x08, 0x00, 0x45, 0]);
    bytes.extend((40 + payload as u16).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend([0x9c, 0x40, 0x9c, 0x41]);
    bytes.extend(sequence.to_be_bytes());
    bytes.extend([0, 0, 0, 0, 0x50, flags.0, 0xff, 0xff, 0, 0, 0, 0]);
    bytes.resize(bytes.len() + payload, 0x5a);
    bytes
}

/// A stream too long for user space is counted in full: to the last byte if it ends, else to the
/// last mebibyte.
#[test]
fn a_long_stream() {
    if !require::root("a_long_stream") || !require::has("a_long_stream", "ip") {
        return;
    }
    const LEN: u32 = 32_000;
    const SEGMENTS: u32 = 100;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stream.pcap");
    for has_end in [true, false] {
        let mut frames = vec![segment(99, TcpFlags::SYN, 0)];
        let payload = |at| segment(100 + at * LEN, TcpFlags::ACK, LEN as usize);
        frames.extend((0..SEGMENTS).map(payload));
        if has_end {
            frames.push(segment(100 + SEGMENTS * LEN, TcpFlags::FIN, 0));
        }
        let mut file = pcap::header(1, 1 << 18);
        for (at, frame) in frames.iter().enumerate() {
            pcap::record(&mut file, at as u64 * 1_000, frame, frame.len());
        }
        std::fs::write(&path, file).unwrap();
        let wire = Wire::new(if has_end { "stream" } else { "open-stream" });
        let mut source = wire.observe();
        let (mut streams, mut recorder) =
            (TcpStreams::new(TcpConfig::default()), Recorder::default());
        let mut taken = 0;
        replay(&wire, &mut source, std::slice::from_ref(&path), &mut |event| match event {
            LiveEvent::Frame(frame) => {
                taken += frame.bytes.len();
                let packet = frame::decode(&frame);
                if let (Body::Tcp(segment), Some(ip)) = (&packet.body, &packet.ip) {
                    let ends = (ip.source, ip.destination);
                    streams.observe(&frame, ends.0, ends.1, segment, &mut recorder);
                }
            }
            LiveEvent::Missed { event, count } => panic!("{}: {count}", event.name()),
            _ => {}
        });
        streams.finish(&mut recorder);
        let sent = recorder.connections[0].totals.unwrap().client.bytes;
        let all = u64::from(SEGMENTS * LEN);
        if has_end {
            assert_eq!(sent, all);
        } else {
            assert!((all - (1 << 20)..all).contains(&sent), "{sent} of {all}");
        }
        assert!(taken < 1_200_000, "{taken} bytes were delivered");
    }
}

/// The same frame in the other direction, with another acknowledgment and window.
fn answer(frame: &[u8], acknowledgment: u32, window: u16) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    for (one, other, len) in [(26, 30, 4), (34, 36, 2)] {
        for at in 0..len {
            bytes.swap(one + at, other + at);
        }
    }
    bytes[42..46].copy_from_slice(&acknowledgment.to_be_bytes());
    bytes[48..50].copy_from_slice(&window.to_be_bytes());
    bytes
}

/// Of a stream that is too long for user space, what shows that it stalls is delivered all the same: what
/// is sent again after timeouts, and windows that close and open.
#[test]
fn a_long_stream_that_stalls() {
    let test = "a_long_stream_that_stalls";
    if !require::root(test) || !require::has(test, "ip") {
        return;
    }
    const LEN: u32 = 32_000;
    const SEGMENTS: u32 = 100;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, frames: &[Vec<u8>]| {
        let mut file = pcap::header(1, 1 << 18);
        for (at, frame) in frames.iter().enumerate() {
            pcap::record(&mut file, at as u64 * 1_000, frame, frame.len());
        }
        let path = folder.path().join(name);
        std::fs::write(&path, file).unwrap();
        path
    };
    let payload = |at| segment(100 + at * LEN, TcpFlags::ACK, LEN as usize);
    let both = TcpFlags(TcpFlags::SYN.0 | TcpFlags::ACK.0);
    let mut data = vec![segment(99, TcpFlags::SYN, 0), answer(&segment(7, both, 0), 100, 9)];
    data.extend((0..SEGMENTS).map(payload));
    let [data, again] = [("data", data), ("again", vec![payload(SEGMENTS - 1)])]
        .map(|(name, frames)| file(name, &frames));
    let ack = |window| answer(&segment(8, TcpFlags::ACK, 0), 100 + LEN, window);
    let windows = file("windows", &[ack(0), ack(0), ack(0), ack(9), ack(9), ack(0)]);

    let wire = Wire::new("stalled");
    let mut source = wire.observe();
    let (mut streams, mut recorder) = (TcpStreams::new(TcpConfig::default()), Recorder::default());
    let mut answers = Vec::new();
    for capture in [&data, &again, &again, &again] {
        replay(&wire, &mut source, std::slice::from_ref(capture), &mut |event| {
            let LiveEvent::Frame(frame) = event else { return };
            let packet = frame::decode(&frame);
            let (Body::Tcp(segment), Some(ip)) = (&packet.body, &packet.ip) else { return };
            streams.observe(&frame, ip.source, ip.destination, segment, &mut recorder);
        });
    }
    replay(&wire, &mut source, &[windows], &mut |event| {
        let LiveEvent::Frame(frame) = event else { return };
        if let Body::Tcp(segment) = frame::decode(&frame).body {
            answers.push(segment.window);
        }
    });
    streams.finish(&mut recorder);
    let sent = recorder.connections[0].totals.unwrap().client;
    assert_eq!(sent.bytes, u64::from(SEGMENTS * LEN));
    assert_eq!(sent.unanswered.unwrap().tries, 2);
    assert_eq!(answers, [0, 9, 0]);
}

/// Long segments are split. Header fields that apply to the whole segment are in the right piece: a
/// FIN is in the last one.
#[test]
fn segments_of_all_sizes_with_an_end() {
    let test = "segments_of_all_sizes_with_an_end";
    if !require::root(test) || !require::has(test, "ip") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment.pcap");
    let wire = Wire::new("segments");
    let mut source = wire.observe();
    for len in [1, 512, 513, 2048, 2049, 16_384, 16_385, 40_000, 65_000] {
        let flags = TcpFlags(TcpFlags::ACK.0 | TcpFlags::FIN.0);
        let frames = [segment(99, TcpFlags::SYN, 0), segment(100, flags, len)];
        let mut file = pcap::header(1, 1 << 18);
        for (at, frame) in frames.iter().enumerate() {
            pcap::record(&mut file, at as u64 * 1_000, frame, frame.len());
        }
        std::fs::write(&path, file).unwrap();
        let mut payload = Vec::new();
        let mut ends = Vec::new();
        replay(&wire, &mut source, std::slice::from_ref(&path), &mut |event| match event {
            LiveEvent::Frame(frame) => {
                let packet = frame::decode(&frame);
                let Body::Tcp(segment) = &packet.body else { panic!("{packet:?}") };
                if segment.flags.has(TcpFlags::SYN) {
                    return;
                }
                assert_eq!(segment.sequence as usize, 100 + payload.len());
                payload.extend_from_slice(segment.payload);
                if segment.flags.has(TcpFlags::FIN) {
                    ends.push(payload.len());
                }
            }
            LiveEvent::Missed { event, count } => panic!("{}: {count}", event.name()),
            _ => {}
        });
        assert_eq!(payload, vec![0x5a; len]);
        assert_eq!(ends, [len]);
    }
}

/// Sends a file as datagrams: its bytes stay in the page cache, and the headers are elsewhere.
const SEND_FILE: &str = "
import os, socket, sys
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.connect(('10.9.0.2', 4791))
file = os.open(sys.argv[1], os.O_RDONLY)
for _ in range(3):
    os.sendfile(out.fileno(), file, 0, os.fstat(file).st_size)
";

/// The headers of a fragmented packet are put together.
#[test]
fn headers_in_pieces() {
    let test = "headers_in_pieces";
    if !require::root(test) || !require::has(test, "ip") || !require::has(test, "python3") {
        return;
    }
    let wire = Wire::new("pieces");
    let namespace = wire.0.as_str();
    run(&["ip", "-n", namespace, "address", "add", "10.9.0.1/24", "dev", "near"]);
    let station = ["10.9.0.2", "lladdr", "02:00:00:00:00:02", "dev", "near"];
    run(&[&["ip", "-n", namespace, "neighbour", "add"], &station[..]].concat());
    // SEND ONLY to queue pair 17: eight bytes of payload, and the ICRC.
    let mut bytes = vec![0x04, 0, 0xff, 0xff, 0, 0, 0, 17, 0, 0, 0, 5];
    bytes.extend([0x5a; 12]);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let mut source = wire.observe();
    let path = file.path().to_str().unwrap();
    run(&["ip", "netns", "exec", namespace, "python3", "-c", SEND_FILE, path]);
    let mut seen = Vec::new();
    let begun = now();
    while seen.len() < 3 && begun.elapsed() < Duration::from_secs(5) {
        let mut take = |event: LiveEvent<'_>| match event {
            LiveEvent::Frame(frame) => {
                if let Body::Roce(roce) = frame::decode(&frame).body {
                    seen.push((roce.bth.opcode.0, roce.bth.dest_qpn.value(), roce.payload_len));
                }
            }
            LiveEvent::Missed { event, count } => panic!("{}: {count}", event.name()),
            _ => {}
        };
        source.poll(Duration::from_millis(20), &mut take).unwrap();
    }
    assert_eq!(seen, [(0x04, 17, 8); 3]);
}

fn value(part: &impl Serialize) -> Value {
    serde_json::to_value(part).unwrap()
}

#[test]
fn a_replayed_job() {
    if !require::root("a_replayed_job") || !require::has("a_replayed_job", "ip") {
        return;
    }
    let recording = Recording::unpack("fullsnap-2.27.5");
    let names = recording.captures();
    let of_one_host = names.iter().filter(|name| name.starts_with("node01"));
    let captures: Vec<_> = of_one_host.map(|name| recording.folder().join(name)).collect();
    let wire = Wire::new("replay");
    let (live, events, costs) = live(&wire, Hook::TrafficControl, &captures);
    assert_eq!(costs.len(), 2);
    assert!(costs.iter().any(|cost| cost.runs > 0), "{costs:?}");
    let offline = offline(&captures);
    let frames = offline.taps[0].frames;
    assert!(events < frames, "{events} events for {frames} frames");
    assert_eq!(live.flows.len(), offline.flows.len());
    for (live, offline) in live.flows.iter().zip(&offline.flows) {
        assert_eq!((live.dest_qpn, live.frames), (offline.dest_qpn, offline.frames));
        assert_eq!(live.payload_bytes, offline.payload_bytes);
        assert_eq!(value(&live.ecn), value(&offline.ecn));
        assert_eq!(value(&live.opcodes), value(&offline.opcodes));
        assert_eq!(value(&live.messages), value(&offline.messages));
    }
    let communicators = |report: &Report| -> Vec<_> {
        let communicators = report.communicators.iter();
        let ranks = |one: &CommunicatorReport| one.ranks.iter().map(|rank| rank.rank).collect();
        let facts = |one: &CommunicatorReport| -> (String, Option<u32>, Vec<u32>, usize) {
            (one.id.clone(), one.nranks, ranks(one), one.connections.len())
        };
        communicators.map(facts).collect()
    };
    assert_eq!(communicators(&live), communicators(&offline));
    let calls = |report: &Report| -> Vec<_> {
        let collectives = report.collectives.iter();
        collectives.map(|one| (one.kind, one.bytes, one.sequence)).collect()
    };
    assert!(!calls(&live).is_empty());
    assert_eq!(calls(&live), calls(&offline));
}

/// Runs the program as user 65534 with only these capabilities on the wire for a moment; returns
/// its output.
fn watch_with(wire: &Wire, capabilities: &[&str], source: &str) -> String {
    let only: Vec<_> = capabilities.iter().map(|name| format!("+{name}")).collect();
    let only = format!("-all,{}", only.join(","));
    // The target folder may be in a place that another user cannot enter.
    let program = Path::new("/run").join(&wire.0);
    std::fs::copy(env!("CARGO_BIN_EXE_railscope"), &program).unwrap();
    let output = Command::new("ip")
        .args(["netns", "exec", &wire.0, "setpriv", "--reuid=65534", "--clear-groups"])
        .args([format!("--inh-caps={only}"), format!("--ambient-caps={only}")])
        .arg(format!("--bounding-set={only}"))
        .args(["timeout", "--signal=INT", "2"])
        .arg(&program)
        .args(["watch", "--source", source, "--interface", "far"])
        .output()
        .unwrap();
    std::fs::remove_file(&program).unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn the_least_capabilities() {
    let test = "the_least_capabilities";
    if !require::root(test) || !require::has(test, "ip") || !require::has(test, "setpriv") {
        return;
    }
    let wire = Wire::new("capable");
    let needed = ["bpf", "net_admin", "perfmon"];
    let said = watch_with(&wire, &needed, "ebpf");
    assert!(said.contains("kernel programs at far"), "{said}");
    for left_out in needed {
        let others: Vec<_> = needed.into_iter().filter(|name| *name != left_out).collect();
        let said = watch_with(&wire, &others, "ebpf");
        let name = format!("CAP_{} is missing", left_out.to_uppercase());
        assert!(said.contains(&name), "without {left_out}: {said}");
    }
    let said = watch_with(&wire, &["net_raw"], "auto");
    assert!(said.contains("packet sockets at far"), "{said}");
    let said = watch_with(&wire, &["net_admin"], "af-packet");
    assert!(said.contains("cap_net_raw"), "{said}");
}

#[test]
fn nothing_stays_behind() {
    if !require::root("nothing_stays_behind") || !require::has("nothing_stays_behind", "ip") {
        return;
    }
    let wire = Wire::new("behind");
    let source = wire.observe();
    let attached = || {
        let listed = Command::new("ip").args(["-n", &wire.0, "-d", "link", "show", "far"]).output();
        let qdiscs =
            Command::new("tc").args(["-n", &wire.0, "qdisc", "show", "dev", "far"]).output();
        let text = |output: std::io::Result<std::process::Output>| {
            String::from_utf8(output.unwrap().stdout).unwrap()
        };
        text(listed) + &text(qdiscs)
    };
    let during = attached();
    drop(source);
    assert!(!attached().contains("clsact"), "{}", attached());
    assert!(!during.contains("clsact"), "{during}");
}
