//! Any input: no panic, bounded memory, everything counted. Replays the corpus of every fuzz
//! target, damages real captures, and floods the tables.

use std::io::Read;
use std::path::{Path, PathBuf};

use railscope_core::flow::tracker::FlowConfig;
use railscope_core::report::Report;

use crate::support::capture_file::{Order, PcapNgFile};
use crate::support::fixture;
use crate::support::frame::{Erspan, FrameBuilder};
use crate::support::ip::Ipv4;
use crate::support::pcap;
use crate::support::railscope;
use crate::support::random::Random;
use crate::support::roce::Roce;

// The checks of the fuzz targets.
#[path = "fuzz/checks/mod.rs"]
pub mod checks;

const SEND_ONLY: u8 = 0x04;
const ACK: u8 = 0x11;

/// Damaged copies per capture and kind of damage.
const COPIES: usize = 200;

/// Bytes of each capture to damage: some dozens of frames.
const DAMAGED_BYTES: usize = 12_000;

fn corpus(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus").join(target);
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{target} has no corpus");
    files
}

fn replay(target: &str, check: fn(&[u8])) {
    for file in corpus(target) {
        let bytes = std::fs::read(&file).unwrap();
        // Shown only on a panic: then the last line names the file.
        println!("{}", file.display());
        check(&bytes);
    }
}

#[test]
fn corpus_of_frame() {
    replay("frame", checks::frame::check);
}

#[test]
fn corpus_of_roce() {
    replay("roce", checks::roce::check);
}

#[cfg(target_os = "linux")]
#[test]
fn corpus_of_drive_store() {
    replay("drive_store", checks::drive_store::check);
}

#[cfg(target_os = "linux")]
#[test]
fn corpus_of_bootstrap() {
    replay("bootstrap", checks::bootstrap::check);
}

/// What lies in these scripts lies where truth would be believed.
#[cfg(target_os = "linux")]
#[test]
fn scripts_of_bootstraps_can_tell_the_truth() {
    for release in ["2_21", "2_27"] {
        let mut files = corpus("bootstrap").into_iter();
        let path = files.find(|path| path.ends_with(format!("of_four_{release}"))).unwrap();
        let report = checks::bootstrap::report_of(&std::fs::read(path).unwrap());
        let [communicator] = &report.communicators[..] else { panic!("{report:?}") };
        assert_eq!(communicator.ranks.len(), 4, "{communicator:?}");
    }
}

#[test]
fn corpus_of_rendezvous() {
    replay("rendezvous", checks::rendezvous::check);
}

#[test]
fn corpus_of_tcp_stream() {
    replay("tcp_stream", checks::tcp_stream::check);
}

#[test]
fn corpus_of_bundle() {
    replay("bundle", checks::bundle::check);
}

#[test]
fn corpus_of_part() {
    replay("part", checks::part::check);
}

#[test]
fn corpus_of_scrub() {
    replay("scrub", checks::scrub::check);
}

#[test]
fn corpus_of_train_log() {
    replay("train_log", checks::train_log::check);
}

#[test]
fn corpus_of_net_socket() {
    replay("net_socket", checks::net_socket::check);
}

#[test]
fn corpus_of_tcp_store() {
    replay("tcp_store", checks::tcp_store::check);
}

#[test]
fn corpus_of_connection_manager() {
    replay("connection_manager", checks::connection_manager::check);
}

#[test]
fn corpus_of_call_record() {
    replay("call_record", checks::call_record::check);
}

#[test]
fn corpus_of_profiler() {
    replay("profiler", checks::profiler::check);
}

#[test]
fn corpus_of_sflow() {
    replay("sflow", checks::sflow::check);
}

#[test]
fn corpus_of_nccl() {
    replay("nccl", checks::nccl::check);
}

#[test]
fn corpus_of_nccl_log() {
    replay("nccl_log", checks::nccl_log::check);
}

#[test]
fn corpus_of_job_log() {
    replay("job_log", checks::job_log::check);
}

#[test]
fn corpus_of_pipeline() {
    replay("pipeline", checks::pipeline::check);
}

#[cfg(target_os = "linux")]
#[test]
fn corpus_of_drive_packet() {
    replay("drive_packet", checks::drive_packet::check);
}

#[test]
fn corpus_of_exchange() {
    replay("exchange", checks::exchange::check);
}

#[cfg(target_os = "linux")]
#[test]
fn corpus_of_library() {
    replay("library", checks::library::check);
}

#[cfg(target_os = "linux")]
#[test]
fn corpus_of_http_request() {
    replay("http_request", checks::http_request::check);
}

#[cfg(target_os = "linux")]
#[test]
fn corpus_of_web_config() {
    replay("web_config", checks::web_config::check);
}

#[test]
fn corpus_of_settings() {
    replay("settings", checks::settings::check);
}

#[cfg(target_os = "linux")]
#[test]
fn corpus_of_netlink() {
    replay("netlink", checks::netlink::check);
}

#[cfg(target_os = "linux")]
#[test]
fn corpus_of_membership() {
    replay("membership", checks::membership::check);
}

#[cfg(target_os = "linux")]
#[test]
fn corpus_of_probe_record() {
    replay("probe_record", checks::probe_record::check);
}

#[cfg(target_os = "linux")]
#[test]
fn corpus_of_packet_record() {
    replay("packet_record", checks::packet_record::check);
}

#[test]
fn corpus_of_otlp_answer() {
    replay("otlp_answer", checks::otlp_answer::check);
}

/// The first bytes of all fixtures, each with a name and a seed.
fn beginnings() -> impl Iterator<Item = (String, Vec<u8>, Random)> {
    fixture::all().into_iter().zip(1..).map(|(fixture, seed)| {
        let file = std::fs::File::open(fixture::path(&fixture.file)).unwrap();
        let mut bytes = Vec::new();
        let mut start = flate2::read::GzDecoder::new(file).take(DAMAGED_BYTES as u64);
        start.read_to_end(&mut bytes).unwrap();
        (fixture.file, bytes, Random::new(seed))
    })
}

#[test]
fn captures_cut_anywhere() {
    for (name, bytes, mut random) in beginnings() {
        for _ in 0..COPIES {
            let len = random.below(bytes.len() as u64) as usize;
            println!("{name} cut at {len}");
            let Some(report) = report(&bytes[..len], 64) else { continue };
            checks::invariants::check(&report);
        }
    }
}

#[test]
fn captures_with_flipped_bytes() {
    for (name, bytes, mut random) in beginnings() {
        for copy in 0..COPIES {
            let mut damaged = bytes.clone();
            for _ in 0..=copy % 20 {
                let at = random.below(bytes.len() as u64) as usize;
                damaged[at] ^= 1 << random.below(8);
            }
            println!("{name}, copy {copy}");
            let Some(report) = report(&damaged, 5) else { continue };
            checks::invariants::check(&report);
        }
    }
}

#[test]
fn random_bytes_in_frames() {
    let mut random = Random::new(7);
    let mut capture = pcap::header(1, 65_535);
    let start = FrameBuilder::ethernet().ipv4(&Ipv4::default()).udp(49_152, 4791).bytes(&[]);
    let start = start.finish().bytes;
    for number in 0..20_000 {
        let mut bytes = start[..random.below(start.len() as u64 + 1) as usize].to_vec();
        bytes.extend((0..random.below(120)).map(|_| random.next() as u8));
        pcap::record(&mut capture, pcap::FIRST_NS + number, &bytes, bytes.len());
    }
    checks::invariants::check(&report(&capture, 1_000).unwrap());
}

/// A capture of `packets` SENDs; `flow` gives each one's source address, source port and QPN.
fn flood(packets: u32, flow: impl Fn(u32) -> ([u8; 4], u16, u32)) -> Vec<u8> {
    let packet = Roce { ack_request: true, ..Roce::new(SEND_ONLY, 0) };
    let built = FrameBuilder::ethernet().ipv4(&Ipv4::default()).udp(0, 4791).roce(&packet);
    let mut bytes = built.finish().bytes;
    let mut capture = pcap::header(1, 65_535);
    for number in 0..packets {
        let (source, port, qpn) = flow(number);
        bytes[26..30].copy_from_slice(&source);
        bytes[34..36].copy_from_slice(&port.to_be_bytes());
        bytes[47..50].copy_from_slice(&qpn.to_be_bytes()[1..]);
        let time_ns = pcap::FIRST_NS + u64::from(number) * 100;
        pcap::record(&mut capture, time_ns, &bytes, bytes.len());
    }
    capture
}

#[test]
fn more_flows_than_there_is_room_for() {
    let capture = flood(300_000, |number| ([10, 1, 2, 3], 50_000, number));
    let report = report(&capture, 1_000).unwrap();
    checks::invariants::check(&report);
    assert_eq!(report.flows.len(), 1_000);
    assert_eq!(report.health["flow.evicted_flows"], 299_000);
    assert_eq!(report.health["flow.evicted_frames"], 299_000);
}

#[test]
fn a_million_pairs_of_addresses_and_ports() {
    let capture = flood(1_000_000, |number| {
        let [a, b, c, d] = number.to_be_bytes();
        ([11, a ^ b, c, d], number as u16, 7 + (number & 1))
    });
    let report = report(&capture, 1_000).unwrap();
    checks::invariants::check(&report);
    assert_eq!(report.flows.len(), 1_000);
    assert!(report.ports.len() <= 65_536);
    assert!(report.health["port.unmetered_frames"] > 0);
    assert_eq!(report.health["flow.evicted_flows"], 999_000);
}

#[test]
fn tens_of_thousands_of_interfaces() {
    let packet = Roce::new(SEND_ONLY, 64);
    let frame = FrameBuilder::ethernet().ipv4(&Ipv4::default()).udp(49_152, 4791).roce(&packet);
    let frame = frame.finish().bytes;
    let mut file = PcapNgFile::new(Order::Little);
    for interface in 0..70_000 {
        file = file.interface(1, 0, &[]);
        if interface % 1_000 == 0 {
            file = file.enhanced(interface, 1, frame.len() as u32, &frame, &[]);
        }
    }
    let before = peak_kib();
    let report = report(&file.bytes, 1_000).unwrap();
    checks::invariants::check(&report);
    assert!(report.taps.len() <= 65_536, "{} taps", report.taps.len());
    let grown = peak_kib().saturating_sub(before);
    assert!(grown < 512 * 1024, "{grown} KiB for the taps of a 2 MB file");
}

#[test]
fn tunnels_in_tunnels() {
    let mut frames = Vec::new();
    for depth in 0..40 {
        let mut frame = FrameBuilder::ethernet();
        for level in 0..depth {
            let ip = Ipv4 { source: [192, 0, 2, level], ..Ipv4::default() };
            frame = frame.ipv4(&ip);
            frame = match level % 3 {
                0 => frame.udp(50_000, 4789).vxlan(7),
                1 => frame.erspan(Erspan::Ii {
                    session: u16::from(level),
                    sequence: 7,
                    truncated: false,
                }),
                _ => frame.gre(0x6558, Some(1), None),
            };
            frame = frame.inner_ethernet();
        }
        let packet = Roce { psn: 100, ..Roce::new(SEND_ONLY, 64) };
        let ip = Ipv4 { identification: depth.into(), ..Ipv4::default() };
        frames.push(frame.ipv4(&ip).udp(49_152, 4791).roce(&packet).finish());
    }
    let report = report(&pcap::capture(&frames), 16).unwrap();
    checks::invariants::check(&report);
    assert!(report.capture.roce_frames >= 1 && report.capture.roce_frames < 40);
    let refused: u64 = report.capture.refused.values().sum();
    assert_eq!(report.capture.roce_frames + refused, 40, "excess depth is counted");
}

/// Requests, ACKs, CNPs and pauses at these times.
fn at_times(times_ns: &[u64]) -> Report {
    let order = Order::Little;
    // Nanosecond timestamps; a link of 8 bit/s, so that pauses last long.
    let options = [(9, vec![9]), (8, order.u64(8).to_vec())];
    let mut file = PcapNgFile::new(order).interface(1, 0, &options);
    for (number, time_ns) in (0_u32..).zip(times_ns) {
        let ask = Roce { dest_qpn: 1, psn: number, ..Roce::new(SEND_ONLY, 256) };
        let ask = Roce { ack_request: true, ..ask };
        let reply = Roce { dest_qpn: 2, psn: number, ..Roce::new(ACK, 0) };
        let notify = Roce { dest_qpn: 2, ..Roce::new(0x81, 0) };
        let there = Ipv4 { identification: number as u16, ..Ipv4::default() };
        let back = Ipv4 { source: there.destination, destination: there.source, ..there.clone() };
        for (ip, packet) in [(&there, &ask), (&back, &notify), (&back, &reply)] {
            let built = FrameBuilder::ethernet().ipv4(ip).udp(49_152, 4791).roce(packet).finish();
            file = file.enhanced(0, *time_ns, built.bytes.len() as u32, &built.bytes, &[]);
        }
        let pause = FrameBuilder::ethernet().pfc(8, [0, 0, 0, 0xffff, 0, 0, 0, 0]).finish();
        file = file.enhanced(0, *time_ns, pause.bytes.len() as u32, &pause.bytes, &[]);
    }
    let report = report(&file.bytes, 16).unwrap();
    checks::invariants::check(&report);
    report
}

#[test]
fn times_at_both_ends_of_their_range() {
    for times in [
        vec![0; 20],
        vec![u64::MAX; 20],
        (0..20).map(|k| u64::MAX - 19_000_000 + k * 1_000_000).collect(),
        [0, u64::MAX].repeat(10),
        [u64::MAX, 0, 1 << 63].repeat(7),
    ] {
        let report = at_times(&times);
        assert_eq!(report.capture.frames, 4 * times.len() as u64);
        assert_eq!(report.flows.len(), 2);
    }
}

#[test]
fn a_clock_that_runs_backwards() {
    let times: Vec<u64> = (0..200).map(|k| pcap::FIRST_NS - k * 700_000).collect();
    let report = at_times(&times);
    assert_eq!(report.health["capture.backward_time_frames"], 199);
    let mut random = Random::new(3);
    let times: Vec<u64> = (0..200).map(|_| random.below(50_000_000)).collect();
    at_times(&times);
}

/// The report on a capture in memory; `None` if it does not begin like one.
fn report(bytes: &[u8], flow_capacity: usize) -> Option<Report> {
    let config = FlowConfig { flow_capacity, line_rate_bps: None, keeps_details: true };
    checks::pipeline::report_of(bytes, config)
}

/// The peak memory of this process, if the system reports it.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Counts of a file are what its writer says: their sum may be more than fits.
#[test]
fn a_profile_with_absurd_counts_is_read() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("profiler/tests/recorded/late-cpu");
    let mut bytes = std::fs::read(recorded.join("rank0.railprof")).unwrap();
    // Words that were overwritten, in the first block; one record that was lost, in the last.
    bytes[280..288].fill(0xff);
    bytes[10_616] = 1;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rank0.railprof");
    std::fs::write(&file, bytes).unwrap();
    let text = railscope::text(&[file]);
    assert!(text.contains("records were lost"), "{text}");
}
