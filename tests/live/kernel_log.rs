//! The kernel programs' log, which costs nothing when it is off.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use aya::EbpfLoader;
use aya::programs::SchedClassifier;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use railscope_ebpf::settings::Settings;
use railscope_ebpf::table::{Key, WAYS};

use super::ebpf::Wire;
use crate::support::frame::FrameBuilder;
use crate::support::ip::Ipv4;
use crate::support::roce::Roce;
use crate::support::{pcap, require};

/// The size of the kernel programs' flow table: 2^15 sets.
const BITS: u32 = 15;

/// Queue pairs whose flows from 10.0.0.1 to 10.0.0.2 share a set, one more than fits.
fn crowd(interface_index: u32) -> Vec<u32> {
    let address = |host: u32| [0, 0, 0xffff_u32.to_be(), (0x0a00_0000 | host).to_be()];
    let set = |qpn| Key::new(address(1), address(2), qpn, interface_index).set(BITS);
    (17..1 << 24).filter(|qpn| set(*qpn) == set(17)).take(WAYS + 1).collect()
}

#[test]
fn a_full_table() {
    let test = "a_full_table";
    let has_all = ["ip", "nsenter", "python3"].iter().all(|tool| require::has(test, tool));
    if !require::root(test) || !has_all {
        return;
    }
    let wire = Wire::new("log");
    let frames: Vec<_> = crowd(wire.index("far"))
        .into_iter()
        .map(|dest_qpn| {
            let ip = Ipv4 { source: [10, 0, 0, 1], destination: [10, 0, 0, 2], ..Ipv4::default() };
            let roce = Roce { dest_qpn, ..Roce::new(0x04, 64) };
            FrameBuilder::ethernet().ipv4(&ip).udp(0xc000, 4791).roce(&roce).finish()
        })
        .collect();
    let capture = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(capture.path(), pcap::capture(&frames)).unwrap();

    let mut agent = Command::new("nsenter")
        .arg(format!("--net={}", wire.path().display()))
        .arg(env!("CARGO_BIN_EXE_railscope"))
        .args(["agent", "--log-kernel-programs", "--set", "prometheus.enabled=false"])
        .args(["--set", "taps.interfaces=[\"far\"]", "--set", "sources.calls=false"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(agent.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.any(|line| line.starts_with("kernel programs at far")));
    wire.replay(&[capture.path().to_owned()]);
    let logged = said.find(|line| line.starts_with("kernel programs: ")).unwrap();
    let expected = "kernel programs: flow table full: 1 packets without a flow on CPU ";
    assert!(logged.starts_with(expected), "{logged}");
    kill(Pid::from_raw(i32::try_from(agent.id()).unwrap()), Signal::SIGTERM).unwrap();
    assert!(said.all(|line| !line.starts_with("kernel programs: ")), "logged twice");
    assert!(agent.wait().unwrap().success());
}

/// Instructions of a program after the verifier has removed dead code.
fn instructions(settings: Settings) -> u32 {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/ebpf");
    let object = format!("{folder}/railscope.{}.bpf.o", std::env::consts::ARCH);
    let mut ebpf = EbpfLoader::new()
        .override_global("SETTINGS", bytemuck::bytes_of(&settings), true)
        .load_file(object)
        .unwrap();
    let program: &mut SchedClassifier = ebpf.program_mut("packets_in").unwrap().try_into().unwrap();
    program.load().unwrap();
    program.info().unwrap().size_translated().unwrap() / 8
}

#[test]
fn nothing_is_left_of_it_where_it_is_off() {
    if !require::root("nothing_is_left_of_it_where_it_is_off") {
        return;
    }
    let [off, on] = [0, 1].map(|logs| instructions(Settings { logs, ..Settings::DEFAULT }));
    println!("{off} instructions without the log, {on} with it");
    assert!(off + 1_000 < on, "{off} instructions without the log, {on} with it");
}
