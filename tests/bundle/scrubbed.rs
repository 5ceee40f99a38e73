//! The scrubbed bundle says the same, and names nobody: it is unpacked and searched as a stranger would.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use serde_json::Value;

use super::{bundled, files_of, members, run, strangers, succeeds};
use crate::support::railscope::PROGRAM;
use crate::support::recording::Recording;
use railscope::export::pcapng::{PcapNgWriter, Statistics};
use railscope::scrub::key::Key;
use railscope::scrub::lines;
use railscope::scrub::pseudonym::Pseudonyms;
use railscope::scrub::text::{Unknown, words};
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, Tap, TapFormat, TapId};
use railscope_core::model::time::{Span, Timestamp};

/// The key of these tests.
const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// Scrubs a bundle; returns what was said.
fn scrub(input: &Path, out: &Path, more: &[&str]) -> String {
    let key = out.with_extension("key");
    std::fs::write(&key, KEY).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["scrub", "--key"]).arg(&key).arg("-o").arg(out).args(more).arg(input);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// Originals of the packets of a job.
#[derive(Default)]
struct Originals {
    addresses: BTreeSet<Ipv4Addr>,
    macs: BTreeSet<[u8; 6]>,
    keys: BTreeSet<u32>,
    places: BTreeSet<u64>,
}

/// Reads pcap, Ethernet, IPv4 and RETH by itself: what this test looks for is not what railscope found.
fn originals(files: &[PathBuf]) -> Originals {
    let mut found = Originals::default();
    for path in files.iter().filter(|path| path.to_str().unwrap().ends_with(".pcap")) {
        let bytes = std::fs::read(path).unwrap();
        let mut rest = &bytes[24..];
        while rest.len() > 16 {
            let len = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
            let (frame, behind) = rest[16..].split_at(len);
            rest = behind;
            found.add(frame);
        }
    }
    found.addresses.retain(Ipv4Addr::is_private);
    found
}

impl Originals {
    fn add(&mut self, frame: &[u8]) {
        self.macs.insert(frame[6..12].try_into().unwrap());
        if frame[12..14] != [8, 0] || frame.len() < 34 {
            return;
        }
        for at in [26, 30] {
            let octets: [u8; 4] = frame[at..at + 4].try_into().unwrap();
            self.addresses.insert(octets.into());
        }
        // UDP to 4791, and the opcodes of a WRITE's first packet.
        let is_write = frame.get(42).is_some_and(|opcode| matches!(opcode, 0x06 | 0x0a | 0x0b));
        if frame[23] == 17 && frame[36..38] == [0x12, 0xb7] && is_write && frame.len() >= 66 {
            self.places.insert(u64::from_be_bytes(frame[54..62].try_into().unwrap()));
            self.keys.insert(u32::from_be_bytes(frame[62..66].try_into().unwrap()));
        }
    }
}

/// Names and addresses in the truth of a job, which railscope does not read.
fn of_truth(job: &Recording) -> BTreeSet<String> {
    fn collect(value: &Value, key: &str, found: &mut BTreeSet<String>) {
        match value {
            Value::String(text) if matches!(key, "hostname" | "ip") => {
                found.insert(text.clone());
            }
            Value::Array(all) => all.iter().for_each(|one| collect(one, key, found)),
            Value::Object(fields) => fields.iter().for_each(|(key, one)| collect(one, key, found)),
            _ => {}
        }
    }
    let truth = std::fs::read(job.folder().join("truth.json")).unwrap_or_else(|_| b"{}".to_vec());
    let mut found = BTreeSet::new();
    collect(&serde_json::from_slice(&truth).unwrap(), "", &mut found);
    found
}

/// Lines that are put into the logs: what they name must be found before and not after. The GUID of a NIC as NCCL
/// wrote it until 2.21.
const PLANTED: &str = "zebra-planted-7:77:77 [0] NCCL INFO Bootstrap: Using eth0:10.99.98.97<0>\n\
    zebra-planted-7:77:77 [0] NCCL INFO + NET[1.2] - NET/0 (b8599f0003a0c2b4/1/1.25)\n";

fn plant(job: &Recording) {
    let logs = files_of(job).into_iter().filter(|path| path.to_str().unwrap().contains("nccl."));
    for log in logs {
        let text = std::fs::read_to_string(&log).unwrap();
        std::fs::write(&log, [PLANTED, &text].concat()).unwrap();
    }
}

/// Nothing of the originals is left; what was planted was there before.
fn is_clean(name: &str, job: &Recording, old: &[(String, Vec<u8>)], new: &[(String, Vec<u8>)]) {
    let own = originals(&files_of(job));
    assert!(!own.addresses.is_empty(), "{name}");
    let mut search = strangers::Search::default();
    let mut texts = of_truth(job);
    texts.extend(own.addresses.iter().map(ToString::to_string));
    texts.extend(["gpu-node-", "zebra", "10.99.98.97", "b8599f0003a0c2b4"].map(str::to_owned));
    for text in &texts {
        // Shorter than some other address by a digit at its end.
        let is_prefix = |it: &&String| it.len() > text.len() && it.starts_with(text.as_str());
        if !texts.iter().any(|it| is_prefix(&it)) || text == "gpu-node-" {
            search.text(text);
        }
    }
    search.number(0xb859_9f00_03a0_c2b4_u64.to_be_bytes());
    let is_planted = files_of(job).iter().any(|path| path.to_str().unwrap().contains("nccl."));
    assert_eq!(strangers::text(old, "zebra-planted-7").is_some(), is_planted, "{name}");
    for mac in own.macs.iter().filter(|mac| mac[0] & 1 == 0 && **mac != [0; 6]) {
        // These jobs have such simple ones that six bytes alone are in structures of NCCL, too.
        let [a, b, c, d, e, f] = *mac;
        for kind in [[8, 0], [8, 6], [0x86, 0xdd]] {
            search.exactly("MAC address", &[&mac[..], &kind].concat());
        }
        search.plain(&strangers::hex(mac, ":"));
        search.number([a ^ 2, b, c, 0xff, 0xfe, d, e, f]);
    }
    for key in own.keys.iter().filter(|key| **key > 0xff) {
        // In logs; in binary, four bytes would be found by chance.
        search.plain(&std::fmt::format(format_args!("key=0x{key:x} ")));
    }
    for place in own.places.iter().filter(|place| **place > 1 << 20) {
        search.number(place.to_be_bytes());
    }
    // Four bytes are too few to be sure of in megabytes, so they are looked for with what is beside them.
    for address in &own.addresses {
        let mapped = address.to_ipv6_mapped().octets();
        let [.., a, b, c, d] = mapped;
        search.exactly("GID", &mapped[8..]);
        search.plain(&std::fmt::format(format_args!("{d:X}{c:02X}{b:02X}{a:02X}FFFF0000")));
    }
    assert!(search.found(old).is_some(), "{name}");
    assert_eq!(search.found(new), None, "{name}");
}

/// Facts of a report that have no names.
fn facts(report: &Value) -> Value {
    let pick = |section: &str, keys: &[&str]| -> Value {
        let rows = report[section].as_array().into_iter().flatten();
        let mut rows: Vec<Value> = rows
            .map(|row| keys.iter().map(|key| row[*key].clone()).collect::<Vec<_>>().into())
            .collect();
        rows.sort_by_key(ToString::to_string);
        rows.into()
    };
    serde_json::json!({
        "frames": report["capture"]["roce_frames"], "tcp": report["capture"]["tcp_frames"],
        "flows": pick("flows", &["dest_qpn", "frames", "psn", "opcodes", "messages", "icrc", "ecn", "ack_rtt_ns", "acks"]),
        "collectives": pick("collectives", &["sequence", "kind", "algorithm", "protocol", "bytes", "start_ns", "end_ns", "messages", "grade"]),
        "iterations": pick("iterations", &["iteration", "start_ns", "end_ns", "bytes", "collectives"]),
        "communicators": pick("communicators", &["nranks", "nccl_version", "transport"]),
        "verdicts": pick("verdicts", &["id", "severity", "cost_ns", "grade"]),
        "findings": pick("findings", &["id", "severity", "grade"]),
        "streams": pick("tcp_streams", &["kind", "bytes", "gaps"]),
    })
}

/// Scrubs a recorded job; what its reports say must be the same.
fn says_the_same(name: &str) {
    let job = Recording::unpack(name);
    plant(&job);
    let [before, after] =
        ["job", "vendor"].map(|it| job.folder().join([it, ".railscope.tar.zst"].concat()));
    let direct = bundled(&job, &before);
    let said = scrub(&before, &after, &[]);
    assert!(said.contains("its report is the same but for names"), "{name}: {said}");
    assert!(said.contains("could identify somebody"), "{name}: {said}");
    let report = succeeds(&["analyze", "--format", "json"], std::slice::from_ref(&after));
    let again: Value = serde_json::from_str(&report).unwrap();
    let (one, other) = (facts(&direct), facts(&again));
    for (key, value) in one.as_object().unwrap() {
        assert_eq!(value, &other[key], "{name}: {key}");
    }
    is_clean(name, &job, &strangers::contents(&before), &strangers::contents(&after));
}

#[test]
fn the_scrubbed_bundle_of_every_recorded_job_says_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<String> = files
        .filter_map(|name| Some(name.to_str()?.strip_suffix(".tar.zst")?.to_owned()))
        .collect();
    assert!(names.len() > 30);
    std::thread::scope(|scope| {
        for half in names.chunks(names.len().div_ceil(2)) {
            scope.spawn(move || half.iter().for_each(|name| says_the_same(name)));
        }
    });
}

#[test]
fn what_cannot_be_scrubbed_is_left_out_by_name() {
    let job = Recording::unpack("ranks2-2.27.5");
    let profile = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("profiler/tests/recorded/late-cpu/rank0.railprof");
    let copy = job.folder().join("rank0.railprof");
    std::fs::copy(profile, &copy).unwrap();
    let out = job.folder().join("vendor.railscope.tar.zst");
    let mut files = files_of(&job);
    files.push(copy);
    let output = run(&["scrub", "-o", out.to_str().unwrap()], &files);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("left out") && said.contains("rank0.railprof"), "{said}");
    assert!(members(&out).iter().all(|(path, _)| !path.starts_with("profile/")));
}

#[test]
fn a_key_that_is_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [key, log, out] = ["key", "job.log", "out"].map(|name| folder.path().join(name));
    std::fs::write(&key, "my secret").unwrap();
    std::fs::write(&log, "n1:1:1 [0] NCCL INFO NCCL version 2.27.5+cuda12.9\n").unwrap();
    let arguments = ["scrub", "--key", key.to_str().unwrap(), "-o", out.to_str().unwrap()];
    let output = run(&arguments, &[log]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("64 hexadecimal digits"), "{said}");
    assert!(!out.exists());
}

/// dumpcap says until when it captured, beyond the last frame.
#[test]
fn the_end_of_a_capture_stays() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after] = ["job.pcapng", "out"].map(|name| folder.path().join(name));
    let at =
        |seconds: u64| Timestamp::from_nanos(1_795_190_840_000_000_000 + seconds * 1_000_000_000);
    let mut writer = PcapNgWriter::new(std::fs::File::create(&before).unwrap()).unwrap();
    let (file, interface) = ("job.pcapng".to_owned(), Some("eth0".to_owned()));
    let (format, link_type) = (TapFormat::PcapNg, LinkType::Ethernet);
    writer
        .tap(&Tap { file, format, interface, link_type, snap_len: None, line_rate_bps: None })
        .unwrap();
    let bytes = super::passing::send();
    for number in 1..4 {
        let (wire_len, time) = (bytes.len() as u32, at(number));
        let (tap, direction) = (TapId(0), None);
        let frame = Frame { tap, number, time, wire_len, bytes: &bytes, link_type, direction };
        writer.frame(&frame).unwrap();
    }
    let span = Some(Span { first: at(0), last: at(9) });
    let counted = Statistics { time: at(9), span, received: Some(3), lost: 0, written: None };
    writer.statistics(TapId(0), &counted).unwrap();
    writer.finish().unwrap();
    let said = scrub(&before, &after, &[]);
    assert!(said.contains("its report is the same but for names"), "{said}");
    let report: Value =
        serde_json::from_str(&succeeds(&["analyze", "--format", "json"], &[after])).unwrap();
    assert_eq!(report["capture"]["duration_ns"], 8_000_000_000_u64);
}

/// Hosts may be called as pseudonyms are, or as words of NCCL are in other letters.
#[test]
fn hosts_with_common_names_can_be_scrubbed() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("job.log");
    let line = |host: &str| {
        [host, ":1:1 [0] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_bond_0'\n"]
            .concat()
    };
    let hosts = ["host-2", "host-1", "host-3", "gpu", "bond"];
    std::fs::write(&log, hosts.map(line).concat()).unwrap();
    let out = folder.path().join("out");
    scrub(&log, &out, &[]);
    let text = String::from_utf8(members(&out)[1].1.clone()).unwrap();
    let named: Vec<&str> = text.lines().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(named, ["host-4", "host-3", "host-5", "host-2", "host-1"]);
}

#[test]
fn a_key_that_others_may_read_is_pointed_out() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("job.log");
    std::fs::write(&log, "n1:1:1 [0] NCCL INFO NCCL version 2.27.5+cuda12.9\n").unwrap();
    let key = folder.path().join("key");
    for (mode, is_open) in [(0o644, true), (0o600, false)] {
        std::fs::write(&key, KEY).unwrap();
        std::fs::set_permissions(&key, Permissions::from_mode(mode)).unwrap();
        let out = folder.path().join("out");
        let arguments = ["scrub", "--key", key.to_str().unwrap(), "-o", out.to_str().unwrap()];
        let output = run(&arguments, std::slice::from_ref(&log));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert_eq!(said.contains("others may read this key"), is_open, "{said}");
    }
}

#[test]
fn the_same_key_gives_the_same_pseudonyms() {
    let job = Recording::unpack("ranks2-2.27.5");
    let before = job.folder().join("job.railscope.tar.zst");
    bundled(&job, &before);
    let [one, two] = ["1", "2"].map(|it| job.folder().join([it, ".railscope.tar.zst"].concat()));
    scrub(&before, &one, &[]);
    scrub(&before, &two, &[]);
    assert!(std::fs::read(&one).unwrap() == std::fs::read(&two).unwrap());
    // Without a key nobody can repeat it.
    let three = job.folder().join("3.railscope.tar.zst");
    assert!(run(&["scrub", "-o", three.to_str().unwrap()], &[before]).status.success());
    assert!(std::fs::read(&one).unwrap() != std::fs::read(&three).unwrap());
}

proptest! {
    #[test]
    fn prefixes_of_addresses_stay(one: u32, other: u32, key: [u8; 32]) {
        // Groups keep what they are, and no prefix.
        prop_assume!(![one, other].iter().any(|it| Ipv4Addr::from(*it).is_multicast()));
        let mut pseudonyms = Pseudonyms::new(Key::new(key));
        let [a, b] = [one, other].map(|it| u32::from_be_bytes(pseudonyms.v4(it.to_be_bytes())));
        prop_assert_eq!((one ^ other).leading_zeros(), (a ^ b).leading_zeros());
    }

    #[test]
    fn packets_and_lines_have_the_same_pseudonyms(address: u32, key: u32, mac: [u8; 6], secret: [u8; 32]) {
        let mut pseudonyms = Pseudonyms::new(Key::new(secret));
        let address = Ipv4Addr::from(address);
        let replaced = Ipv4Addr::from(pseudonyms.v4(address.octets()));
        let mut line = |text: &str| words(text, Unknown::Blank, &mut pseudonyms);
        let used = line(&["Using eth0:", &address.to_string(), "<0>"].concat());
        prop_assert_eq!(used, ["Using eth0:", &replaced.to_string(), "<0>"].concat());
        let spelt = |mac: [u8; 6]| mac.map(|byte| std::fmt::format(format_args!("{byte:02x}"))).join(":");
        let before = std::fmt::format(format_args!("rkey 0x{key:08x}"));
        let (named, at) = (line(&before), line(&spelt(mac)));
        prop_assert_eq!(named, std::fmt::format(format_args!("rkey 0x{:08x}", pseudonyms.remote_key(key))));
        prop_assert_eq!(at, spelt(pseudonyms.mac(mac)));
    }

    #[test]
    fn any_line_is_read(line in "\\PC*") {
        let mut pseudonyms = Pseudonyms::new(Key::new([1; 32]));
        let _ = lines::of_log(line.as_bytes(), &mut pseudonyms);
        let blank = words(&line, Unknown::Blank, &mut pseudonyms);
        prop_assert!(blank.is_ascii());
    }
}
