//! A run in which every foreign string is hostile: no output has a character that drives a terminal,
//! forges a line, or hides what stands around it.

use railscope::printable::is_printable;

use super::{command, text, write};
use crate::support::capture_file::{Order, PcapNgFile};
use crate::support::frame::FrameBuilder;
use crate::support::ip::Ipv4;
use crate::support::roce::Roce;

/// Clears a screen in both ways, sets a title, forges a line, reorders, hides, breaks, ends a string.
const HOSTILE: &str = "a\x1b[2J\u{9b}2J\x1b]0;b\x07c\rd\u{202e}e\u{200b}f\u{2028}g\u{7f}h";

fn inputs(folder: &tempfile::TempDir) -> Vec<String> {
    let packet = FrameBuilder::ethernet()
        .ipv4(&Ipv4::default())
        .udp(49_152, 4791)
        .roce(&Roce::new(0x04, 64))
        .finish()
        .bytes;
    let length = packet.len() as u32;
    let capture = PcapNgFile::new(Order::Little)
        .interface(1, 0, &[(2, HOSTILE.as_bytes().to_vec())])
        .names(&[(&[10, 1, 2, 3], &[HOSTILE])])
        .enhanced(0, 1_700_000_000_000_000, length, &packet, &[])
        .bytes;
    let capture = write(folder, &format!("{}.pcapng", HOSTILE.replace('/', "")), &capture);
    let name = HOSTILE.replace(['\r', '\u{2028}'], "");
    let log = format!(
        "{name}:41:41 [0] NCCL INFO NCCL version 2.27.5+cuda12.8\n\
         host1:41:41 [0] misc/ibvwrap.cc:1 NCCL WARN {name}\n\
         host1:41:41 [0] NCCL INFO NET/IB : Using [0]{name}:1/RoCE [RO]; OOB {name}:10.1.2.3<0>\n"
    );
    let log = write(folder, "nccl.log", log.as_bytes());
    let counters = |at: u64| {
        let line = serde_json::json!({
            "time_ns": 1_700_000_000_000_000_000_u64 + at, "host": HOSTILE, "device": HOSTILE,
            "netdev": HOSTILE, "port": 1, "driver": HOSTILE,
            "counters": { HOSTILE: at, "out_of_sequence": at, "np_cnp_sent": at },
        });
        format!("{line}\n")
    };
    let counters = [0, 1_000_000_000].map(counters).concat();
    let counters = write(folder, "counters.jsonl", counters.as_bytes());
    ["--nccl-log", text(&log), "--counters", text(&counters), text(&capture)]
        .map(str::to_owned)
        .to_vec()
}

#[test]
fn no_output_has_a_hostile_character() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = inputs(&folder);
    let capture = inputs.last().unwrap();
    let analyze = |format: &str| {
        let mut words = vec!["analyze".to_owned(), "--format".to_owned(), format.to_owned()];
        words.extend(inputs.iter().cloned());
        words
    };
    let mut runs: Vec<Vec<String>> =
        ["text", "json", "html", "prometheus", "perfetto"].map(analyze).to_vec();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    runs.push(words(&["packets", capture]));
    runs.push(words(&["packets", "--context", "--format", "json", capture]));
    runs.push(words(&["packets", "--format", "csv", capture]));
    runs.push([words(&["explain", "--qp", "10.1.2.4/0x14"]), inputs.clone()].concat());
    runs.push([words(&["explain", "--hang"]), inputs.clone()].concat());
    runs.push(words(&["analyze", &format!("nosuch{HOSTILE}")]));
    for run in runs {
        let output = command(run.iter().map(String::as_str)).output().unwrap();
        assert!(output.status.code().is_some_and(|code| code <= 2), "{run:?}");
        for (what, bytes) in [("stdout", output.stdout), ("stderr", output.stderr)] {
            let shown = String::from_utf8(bytes).unwrap();
            let bad = |line: &&str| !line.chars().all(|c| is_printable(c) || c == '\t');
            let bad: Vec<&str> = shown.split('\n').filter(bad).take(3).collect();
            // HTML has the page's own script, which is ours.
            assert!(bad.is_empty(), "{what} of {run:?}: {bad:?}");
        }
    }
}
