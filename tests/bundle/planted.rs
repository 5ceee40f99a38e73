//! Names, addresses and keys planted wherever users have them: found before scrubbing, and not after.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::strangers::{contents, exactly, number, text};
use super::{run, succeeds};
use crate::support::railscope::PROGRAM;

/// Scrubs files; returns what is in the result.
fn scrubbed(folder: &Path, files: &[PathBuf], more: &[&str]) -> Vec<(String, Vec<u8>)> {
    let (out, key) = (folder.join("vendor.railscope.tar.zst"), folder.join("key"));
    // With another key, 10.77.0.0/16 may become itself by chance.
    std::fs::write(&key, "5a".repeat(32)).unwrap();
    let output = Command::new(PROGRAM)
        .args(["scrub", "--key"])
        .arg(&key)
        .arg("-o")
        .arg(&out)
        .args(more)
        .args(files)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    contents(&out)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Each is written where a program or a launcher writes a name; all are gone, and their lines keep their places.
#[test]
fn names_in_logs_are_gone_whoever_wrote_them() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "\
        Nov 20 15:15:10 quux01 kernel: mlx5_core 0000:18:00.0 eth2: Link down\n\
        srun: error: quux02: task 3: Killed\n\
        # Rank  0 Group  0 Pid  58931 on quux03 device  0 [0x1b] NVIDIA H100\n\
        quux04: link mlx5_0/1 lqpn 7 rqpn 8 type RC state RTS pid 77 comm quux05\n\
        quux06: gpu-a:4711:4712 [0] NCCL INFO NCCL_COMM_NAME set by environment to quux07.\n\
        [pod/quux08-0/quux09] gpu-a:4711:4712 [0] NCCL INFO NET/Plugin: Loaded net plugin libnccl-net-quux10.so\n\
        quux11  | gpu-a:4711:4712 [0] NCCL INFO the customer quux12 runs 大模型 on 10.77.1.2\n\
        0: quux13 gpu-a:4711:4712 [0] NCCL INFO Using network quux14\n\
        [quux15 12:01:02] gpu-a:4711:4712 [0] quux16/net.cc:9 NCCL WARN Connection closed by remote peer quux17.ab.cd<45678>\n\
        gpu-a:4711:4712 [0] NCCL WARN NET/IB: Got completion from peer 10.77.0.2<45678> with status=12 \
        opcode=0 len=0 vendor err 129 (Recv) remoteGidsfe80::5054:ff:fe12:3456\n\
        gpu-a:4711:4712 [0] NCCL INFO Bootstrap : Using quux18:10.77.0.1<0>\n\
        gpu-a:4711:4712 [0] NCCL INFO NCCL_DEBUG_FILE set by environment to /mnt/quux19/quux20.%h.log\n\
        rank 3 of quux21 trains 大模型\n\
        gpu-a:4711:4712 [0] NCCL INFO comm 0x5612345678f0 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 commId 0xabc - Init START\n\
        节点一:4711:4713 [0] NCCL INFO NET/IB : Using [0]mlx5_quux22:1/RoCE [RO]; OOB quux23:10.77.0.1<0>\n";
    let log = write(folder.path(), "quux24.log", lines.as_bytes());
    let training = "quux25 |  2%|▎  | 10/400 [01:17<13:02,  2.01s/it]{'loss': 4.7883, 'quux26': 0.0}\r\
        quux27 step\n[2024-06-21 10:50:42,167] [INFO] [quux28.py:96:log] [Rank 0] step=10, skipped=0, lr=[1]\n\
        saving /mnt/quux29/checkpoint\n";
    let training = write(folder.path(), "train.txt", training.as_bytes());
    let counters = "{\"time_ns\":1795190840147452590,\"host\":\"quux30.ab.cd\",\"device\":\"mlx5_0\",\
        \"address\":\"10.77.0.4\",\"quux31\":\"quux32\",\"counters\":{\"np_cnp_sent\":12,\"quux33_sent\":5}}\n";
    let counters = write(folder.path(), "nics.jsonl", counters.as_bytes());
    let settings = "[findings]\nhang_after_s = 3.0 # quux34\n[expect]\nbootstrap_interface = \"quux35\"\n\
        bootstrap_cidr = \"10.77.4.0/24\"\n";
    let settings = write(folder.path(), "settings.toml", settings.as_bytes());
    let more = ["--train-log", training.to_str().unwrap(), "--config", settings.to_str().unwrap()];
    let files = [log, counters];
    let bundle = folder.path().join("job.railscope.tar.zst");
    let arguments = [&["analyze", "--bundle", bundle.to_str().unwrap()][..], &more].concat();
    succeeds(&arguments, &files);
    let before = contents(&bundle);
    for number in 1..=35 {
        let name = std::fmt::format(format_args!("quux{number:02}"));
        assert!(number == 34 || exactly(&before, name.as_bytes()).is_some(), "{name}");
    }
    for after in [
        scrubbed(folder.path(), &files, &more),
        scrubbed(folder.path(), std::slice::from_ref(&bundle), &[]),
    ] {
        for gone in [
            "quux",
            "gpu-a",
            "fe12:3456",
            "10.77.",
            "大模型",
            "节点一",
            "ab.cd",
            "customer",
            "58931",
            "checkpoint",
            "5612345678f0",
        ] {
            assert_eq!(text(&after, gone), None, "{gone}");
        }
        let member = |role: &str| {
            let found = after.iter().find(|(path, _)| path.starts_with(role)).unwrap();
            String::from_utf8(found.1.clone()).unwrap()
        };
        let log = member("nccl_log/");
        assert_eq!(log.lines().count(), lines.lines().count());
        assert!(log.contains("NCCL WARN NET/IB: Got completion from peer 10."), "{log}");
        assert!(log.contains("[removed]") && member("train_log/").contains("| 10/400 ["), "{log}");
        assert!(member("counters/").contains("\"np_cnp_sent\":12"));
        assert!(member("config/").contains("hang_after_s = 3.0"));
    }
}

#[test]
fn words_that_the_user_names_are_gone_within_words_too() {
    let folder = tempfile::tempdir().unwrap();
    let line = "gpu-a:4711:4712 [0] NCCL INFO NCCL_IB_HCA set by environment to mlx5_0,AcmeNet0\n\
        gpu-a:4711:4712 [0] NCCL INFO NCCL version 2.27.5+cuda12.9\n";
    let log = write(folder.path(), "job.log", line.as_bytes());
    let after = scrubbed(folder.path(), std::slice::from_ref(&log), &["--name", "acme"]);
    assert_eq!(text(&after, "acme"), None);
    let refused = run(&["scrub", "--name", "a", "-o", "x"], std::slice::from_ref(&log));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("at least 3 letters"));
}

/// A result in which an original is left is not written. What railscope itself writes into a report is one.
#[test]
fn a_result_that_is_not_clean_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let line = "gpu-a:4711:4712 [0] NCCL INFO NCCL version 2.27.5+cuda12.9\n";
    let log = write(folder.path(), "job.log", line.as_bytes());
    let out = folder.path().join("out");
    let output = run(&["scrub", "--name", "railscope", "-o", out.to_str().unwrap()], &[log]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && !out.exists(), "{said}");
    assert!(said.contains("is still in manifest.json, at byte"), "{said}");
    let left = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(left, 1, "a draft was left behind");
}

const MAC: [u8; 6] = [0x52, 0x54, 0x91, 0xa2, 0xb3, 0xc4];

/// A frame: Ethernet, IPv4 from 10.77.0.1 to 10.77.0.2, a protocol and what it carries.
fn ipv4(protocol: u8, inner: &[u8]) -> Vec<u8> {
    let mut frame = [&[2, 0, 0, 0x77, 0x66, 0x55][..], &MAC, &[8, 0]].concat();
    frame.extend([0x45, 0]);
    frame.extend((20 + inner.len() as u16).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, protocol, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2]);
    frame.extend(inner);
    frame
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let length = 8 + payload.len() as u16;
    let header = [40_000_u16, port, length, 0].map(u16::to_be_bytes).concat();
    ipv4(17, &[&header[..], payload].concat())
}

fn tcp(port: u16, sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = [40_001_u16, port].map(u16::to_be_bytes).concat();
    header.extend(sequence.to_be_bytes());
    // The option of the segment size with a wrong length, and text in it.
    header.extend([0, 0, 0, 0, 0x70, flags, 1, 0, 0, 0, 0, 0, 2, 8]);
    header.extend(b"quux-o");
    ipv4(6, &[&header[..], payload].concat())
}

/// A WRITE: BTH, RETH with an address and a key, payload.
fn write_only(place: u64, key: u32, payload: &[u8]) -> Vec<u8> {
    let mut inner = vec![0x0a, 0, 0xff, 0xff, 0, 0, 0, 17, 0, 0, 0, 1];
    inner.extend(place.to_be_bytes());
    inner.extend(key.to_be_bytes());
    inner.extend((payload.len() as u32).to_be_bytes());
    inner.extend(payload);
    inner.extend([0; 4]);
    udp(4791, &inner)
}

/// A neighbour solicitation to the group of a host's address.
fn solicitation() -> Vec<u8> {
    let mut frame = [
        &[0x33, 0x33, 0xff, 0x9a, 0xbc, 0xde][..],
        &MAC,
        &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 24, 58, 255],
    ]
    .concat();
    frame.extend([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0x91, 0xff, 0xfe, 0xa2, 0xb3, 0xc4]);
    frame.extend([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0x9a, 0xbc, 0xde]);
    frame.extend([135, 0, 0, 0, 0, 0, 0, 0]);
    frame.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x9a, 0xbc, 0xde]);
    frame
}

fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut out = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
    for (at, frame) in (0..).zip(frames) {
        let len = frame.len() as u32;
        out.extend([1_795_190_840_u32, at, len, len].map(u32::to_le_bytes).concat());
        out.extend(frame);
    }
    out
}

/// Protocols that name hosts, data, stores, addresses of memory that are large: nothing of it is left.
#[test]
fn what_is_planted_in_frames_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let lldp =
        [&[1, 0x80, 0xc2, 0, 0, 14][..], &MAC, &[0x88, 0xcc, 2, 7, 3], b"quux-lldp"].concat();
    let named = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let store =
        [&[0, 0xce, 0xf7, 0x85, 0x3c, 1][..], &named("quux-key/0"), &named("quux-value 10.77.0.9")]
            .concat();
    let bootstrap = |frame: &[u8]| {
        let greeting =
            [&[0x71, 0x52, 0x63, 0x94, 0xa5, 0xb6, 0xc7, 0xd8][..], &1_u32.to_le_bytes()].concat();
        [&greeting[..], &8_u32.to_le_bytes(), &[0; 8], &(frame.len() as u32).to_le_bytes(), frame]
            .concat()
    };
    let mut frames = vec![
        udp(53, b"\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x08quux-dns\x02ab\x02cd\x00\x00\x01\x00\x01"),
        udp(5353, b"quux-mdns.local"),
        udp(67, &[&MAC[..], b"quux-dhcp"].concat()),
        udp(6343, b"quux-sflow"),
        ipv4(2, b"\x22\x00\x00\x00quux-igmp"),
        ipv4(1, b"\x08\x00\x00\x00quux-icmp"),
        ipv4(50, b"quux-esp"),
        lldp,
        solicitation(),
        tcp(4444, 100, 0x18, b"GET /quux-http HTTP/1.1"),
        tcp(29_500, 99, 2, b""),
        tcp(29_500, 100, 0x18, &store),
        tcp(29_501, 99, 2, b""),
        tcp(29_501, 100, 0x18, &bootstrap(b"quux-frame of a length that no release has, with 10.77.0.9")),
    ];
    let places = [0x7f12_3456_7000_u64, 0x0200_1234_5678_9000, 0xffff_8881_1234_5000];
    frames.extend(places.map(|place| {
        write_only(place, 0x1f2e_3d4c, b"quux-rdma-payload-that-is-longer-than-the-sum")
    }));
    // Behind what IP says is padding.
    frames.push([udp(9, b""), b"quux-pad".to_vec()].concat());
    let capture = write(folder.path(), "quux.pcap", &pcap(&frames));
    let before = vec![("capture".to_owned(), std::fs::read(&capture).unwrap())];
    let after = scrubbed(folder.path(), std::slice::from_ref(&capture), &[]);
    for name in [
        "quux",
        "dns",
        "lldp",
        "igmp",
        "icmp",
        "esp",
        "http",
        "10.77.",
        "payload-that",
        "quux-o",
        "quux-pad",
        "of a length",
    ] {
        assert_eq!(text(&after, name).filter(|it| it.contains(" in capture/")), None, "{name}");
        assert!(name == "esp" || exactly(&before, name.as_bytes()).is_some(), "{name}");
    }
    assert_eq!(text(&after, "quux"), None);
    for place in places {
        assert!(exactly(&before, &place.to_be_bytes()).is_some());
        assert_eq!(number(&after, place.to_be_bytes()), None, "{place:x}");
    }
    assert_eq!(number(&after, 0x1f2e_3d4c_u32.to_be_bytes()), None);
    assert_eq!(number(&after, MAC), None);
    assert_eq!(number(&after, [0x50, 0x54, 0x91, 0xff, 0xfe, 0xa2, 0xb3, 0xc4]), None);
    for group in
        [[0xff, 0x9a, 0xbc, 0xde], [0x11, 0x9a, 0xbc, 0xde], [10, 77, 0, 1], [10, 77, 0, 2]]
    {
        assert!(exactly(&before, &group).is_some());
        assert_eq!(number(&after, group), None, "{group:x?}");
    }
}
