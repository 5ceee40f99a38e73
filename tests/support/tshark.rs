//! tshark as an oracle: selected fields of every frame of a capture.

use std::path::Path;
use std::process::Command;

/// The values of `fields` in every frame of `capture`, in order. An absent field is empty; if a
/// field occurs in several layers, the innermost counts.
pub fn fields(capture: &Path, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-T", "fields", "-E", "occurrence=l"]);
    // Heuristics that take connection manager messages for malformed RPC, and short UD messages for
    // malformed Ethernet over InfiniBand.
    command.args(["--disable-protocol", "rpcordma", "--disable-protocol", "infiniband.eoib"]);
    // Not done by default: Linux's VXLAN port, and checksums.
    command.args(["-d", "udp.port==8472,vxlan", "-o", "ip.check_checksum:TRUE"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.arg("-r").arg(capture).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// A number as tshark prints it: decimal, or hexadecimal after `0x`; `None` if absent.
pub fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        _ if text.is_empty() => None,
        Some(digits) => Some(u64::from_str_radix(digits, 16).unwrap()),
        None => Some(text.parse().unwrap()),
    }
}

/// Decimal seconds as nanoseconds.
pub fn nanoseconds(text: &str) -> u64 {
    let (seconds, fraction) = text.split_once('.').unwrap();
    assert_eq!(fraction.len(), 9);
    seconds.parse::<u64>().unwrap() * 1_000_000_000 + fraction.parse::<u64>().unwrap()
}

/// How many frames of `capture` a display filter selects.
pub fn count(capture: &Path, filter: &str) -> usize {
    let mut command = Command::new("tshark");
    command.args(["-n", "-Y", filter, "-T", "fields", "-e", "frame.number", "-r"]);
    let output = command.arg(capture).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().count()
}
