//! What a packet costs at traffic control, by kind of packet: the kernel runs the program on it many
//! times and takes the time, in turns with a program that does nothing, whose time is subtracted.
//! Needs root.
//!
//! Each figure is the median of five rounds.
//!
//! Where `RAILSCOPE_NETOBSERV_OBJECT` names the programs of netobserv-ebpf-agent (`pkg/ebpf/bpf_x86_bpfel.o`
//! in its repository), the one that its agent runs on what comes in is measured in the same rounds, with the
//! agent's defaults: every packet, flows and nothing else. Its maps are pinned while the bench runs, which needs
//! the file system `bpf` at `/sys/fs/bpf`.

use std::path::PathBuf;
use std::process::ExitCode;

use aya::maps::RingBuf;
use aya::programs::{SchedClassifier, TestRun, TestRunOptions};
use aya::{Ebpf, EbpfLoader, include_bytes_aligned};

#[cfg(target_arch = "x86_64")]
const OBJECT: &[u8] = include_bytes_aligned!("../ebpf/railscope.x86_64.bpf.o");
#[cfg(target_arch = "aarch64")]
const OBJECT: &[u8] = include_bytes_aligned!("../ebpf/railscope.aarch64.bpf.o");

const ROUNDS: usize = 5;
const RUNS: u32 = 1_000_000;

/// Runs in a row of what fills the ring, which then is emptied, as the agent does.
const RUNS_WITH_EVENTS: u32 = 20_000;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// A kind of packet.
struct Kind {
    name: &'static str,
    packet: Vec<u8>,
    /// The program, and what its time is compared with.
    programs: [&'static str; 2],
    runs: u32,
}

fn kinds() -> Vec<Kind> {
    let plain =
        |name, packet| Kind { name, packet, programs: ["packets_in", "repeated_pass"], runs: RUNS };
    let roce = |name, opcode, payload: &[u8], runs| Kind {
        name,
        packet: roce(opcode, 0, payload),
        programs: ["repeated_advance_in", "repeated_advance"],
        runs,
    };
    vec![
        plain("ARP", ethernet(0x0806, &[0; 46])),
        plain("UDP, not RoCEv2", udp(53, &[0; 64])),
        plain("TCP, acknowledgement of an unknown connection", tcp(0, 0)),
        plain("TCP, payload that is counted", tcp(1, 1024)),
        plain("TCP, acknowledgement", tcp(0, 0)),
        roce("RoCEv2, middle of a message: counted", 0x07, &[0; 1024], RUNS),
        roce("RoCEv2, ACK of a part of a message: counted", 0x11, &[0x1f, 0, 0, 1], RUNS),
        roce("RoCEv2, message: handed out", 0x0a, &[0; 1024], RUNS_WITH_EVENTS),
        roce("RoCEv2, NAK: handed out", 0x11, &[0x60, 0, 0, 1], RUNS_WITH_EVENTS),
        Kind {
            runs: RUNS_WITH_EVENTS,
            ..plain("RoCEv2 in a mirror session (ERSPAN II): handed out", mirrored_roce())
        },
    ]
}

fn main() -> ExitCode {
    // `cargo test --benches` only asks whether it starts.
    if std::env::args().any(|argument| argument == "--test") {
        return ExitCode::SUCCESS;
    }
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Outcome<()> {
    let mut ebpf = Ebpf::load(OBJECT)?;
    let mut ring = RingBuf::try_from(ebpf.take_map("EVENTS").ok_or("no ring")?)?;
    let object = std::env::var_os(NETOBSERV);
    let mut netobserv = object.map(|path| Netobserv::load(path.into())).transpose()?;
    println!("ns more than a program that does nothing");
    println!("| packet | railscope |{}", netobserv.as_ref().map_or("", |_| " netobserv |"));
    println!("|---|--:|{}", netobserv.as_ref().map_or("", |_| "--:|"));
    for kind in kinds() {
        let mut rounds = [const { Vec::new() }; 2];
        for _ in 0..ROUNDS {
            let [own, nothing] = kind.programs.map(|name| nanoseconds(&mut ebpf, name, &kind));
            while ring.next().is_some() {}
            rounds[0].push(own?.saturating_sub(nothing?));
            if let Some(Netobserv { ebpf: other, .. }) = &mut netobserv {
                let nothing = nanoseconds(&mut ebpf, "repeated_pass", &kind)?;
                rounds[1].push(nanoseconds(other, FLOWS_IN, &kind)?.saturating_sub(nothing));
            }
        }
        print!("| {} |", kind.name);
        for mut rounds in rounds.into_iter().filter(|rounds| !rounds.is_empty()) {
            rounds.sort_unstable();
            print!(" {} |", rounds[ROUNDS / 2]);
        }
        println!();
    }
    Ok(())
}

/// Names netobserv's programs.
const NETOBSERV: &str = "RAILSCOPE_NETOBSERV_OBJECT";

/// Its program for what comes in.
const FLOWS_IN: &str = "tc_ingress_flow_parse";

/// netobserv's programs, and where their maps are pinned.
struct Netobserv {
    ebpf: Ebpf,
    pins: PathBuf,
}

impl Netobserv {
    fn load(object: PathBuf) -> Outcome<Self> {
        let pins = PathBuf::from(format!("/sys/fs/bpf/railscope-bench-{}", std::process::id()));
        let way_out =
            |error| format!("create {}: {error}; mount -t bpf bpf /sys/fs/bpf", pins.display());
        std::fs::create_dir(&pins).map_err(way_out)?;
        let mut loader = EbpfLoader::new();
        // As its agent does: CACHE_MAX_FLOWS, and no more than a page for what is off.
        loader.map_max_entries("aggregated_flows", 5000);
        loader.map_max_entries("ssl_data_event_map", 4096);
        let ebpf = loader.default_map_pin_directory(&pins).load_file(object);
        Ok(Self { ebpf: ebpf.inspect_err(|_| _ = std::fs::remove_dir_all(&pins))?, pins })
    }
}

impl Drop for Netobserv {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.pins) {
            eprintln!("{} stays: {error}", self.pins.display());
        }
    }
}

/// A program; loads it the first time.
fn program<'a>(ebpf: &'a mut Ebpf, name: &str) -> Outcome<&'a mut SchedClassifier> {
    let program = ebpf.program_mut(name).ok_or("the object lacks a program")?;
    let program: &mut SchedClassifier = program.try_into()?;
    if program.fd().is_err() {
        program.load()?;
    }
    Ok(program)
}

/// Mean time of one run of the program on the packet.
fn nanoseconds(ebpf: &mut Ebpf, name: &str, kind: &Kind) -> Outcome<u128> {
    let packet = Some(&kind.packet[..]);
    let options = TestRunOptions { data_in: packet, repeat: kind.runs, ..TestRunOptions::new() };
    Ok(program(ebpf, name)?.test_run(options)?.duration.as_nanos())
}

fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    frame.extend(ether_type.to_be_bytes());
    frame.extend(payload);
    frame
}

fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let len = (20 + payload.len()) as u16;
    let [high, low] = len.to_be_bytes();
    let mut packet = vec![0x45, 0x02, high, low, 0, 0, 0x40, 0, 64, protocol, 0, 0];
    packet.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(payload);
    ethernet(0x0800, &packet)
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0xc0, 0x00];
    datagram.extend(port.to_be_bytes());
    datagram.extend(((8 + payload.len()) as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    ipv4(17, &datagram)
}

fn tcp(number: u32, payload_len: usize) -> Vec<u8> {
    let mut segment = vec![0x30, 0x39, 0x30, 0x3a];
    segment.extend(number.wrapping_mul(1024).to_be_bytes());
    segment.extend([0, 0, 0, 0, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    segment.extend(vec![0; payload_len]);
    ipv4(6, &segment)
}

/// A WRITE of 2048 bytes in an ERSPAN II session; the kernel tries no packet of more than a page.
fn mirrored_roce() -> Vec<u8> {
    let mut session = vec![0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 0, 0, 5, 0, 0, 0, 0];
    session.extend(roce(0x07, 0, &[0; 2048]));
    ipv4(47, &session)
}

/// `payload` is what comes behind the BTH, without the check sequence.
fn roce(opcode: u8, psn: u32, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![opcode, 0, 0xff, 0xff, 0, 0, 0, 17];
    packet.extend((psn & 0x00ff_ffff).to_be_bytes());
    packet.extend(payload);
    packet.extend([0; 4]);
    udp(4791, &packet)
}
