//! Files that are not readable captures: what they look like and what to do with them.

use std::fmt;

/// What a foreign file looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign(&'static str);

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

const CONVERT_MODIFIED: &str =
    "it is a Kuznetzov-modified pcap: convert it with `editcap -F pcapng`";

/// First bytes, their meaning, and what to do.
// tidy: table
const SIGNATURES: &[(&[u8], &str)] = &[
    (&[0x34, 0xcd, 0xb2, 0xa1], CONVERT_MODIFIED),
    (&[0xa1, 0xb2, 0xcd, 0x34], CONVERT_MODIFIED),
    (b"snoop\0", "it is a snoop capture: convert it with `editcap -F pcapng`"),
    (b"btsnoop\0", "it is a Bluetooth snoop log, which has no RDMA traffic"),
    (b"RTSS", "it is a Network Monitor capture: convert it with `editcap -F pcapng`"),
    (b"GMBU", "it is a Network Monitor capture: convert it with `editcap -F pcapng`"),
    (&[0x1f, 0x8b], "it is gzip inside a compressed file: unpack the outer one first"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "it is zstd inside a compressed file: unpack the outer one first"),
    (b"\xfd7zXZ\0", "it is xz-compressed: unpack it with `xz -d` first"),
    (b"BZh", "it is bzip2-compressed: unpack it with `bzip2 -d` first"),
    (&[0x04, 0x22, 0x4d, 0x18], "it is lz4-compressed: unpack it with `lz4 -d` first"),
    (b"PK\x03\x04", "it is a zip archive: unpack it first"),
    (b"7z\xbc\xaf", "it is a 7z archive: unpack it first"),
    (b"\x7fELF", "it is a program (ELF)"),
    (
        b"RAILPART",
        "it is a part of captures: `analyze` and `explain` read it, unpacked and with no captures beside it",
    ),
    (b"SQLite format 3\0", "it is an SQLite database; nsys reports are not supported"),
];

/// Guesses what a file with these first bytes is.
pub(super) fn recognise(start: &[u8]) -> Foreign {
    if let Some((_, meaning)) = SIGNATURES.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Foreign(meaning);
    }
    // POSIX `ustar` header: its magic is at byte 257.
    if start.get(257..262) == Some(b"ustar".as_slice()) {
        return Foreign("it is a tar archive: unpack it first");
    }
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if start.iter().all(is_text) {
        return Foreign("it looks like text: write a capture with `tcpdump -w FILE`");
    }
    Foreign("its format is unknown: try `editcap -F pcapng`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_easily_known_is_named() {
        let tar = [&[b'n'; 257], b"ustar".as_slice(), &[0; 200]].concat();
        for (start, word) in [
            (b"\x7fELF\x02\x01".as_slice(), "ELF"),
            (b"12:00:01 IP 10.0.0.1 > 10.0.0.2\n", "text"),
            (b"\xa1\xb2\xcd\x34\0\x02", "modified"),
            (&tar, "tar"),
            (&[0, 1, 2, 3], "unknown"),
        ] {
            assert!(recognise(start).to_string().contains(word), "{start:?}");
        }
    }
}
