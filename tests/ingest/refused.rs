//! Files that cannot be opened: the message names the file and what to do.

use super::check;
use crate::support::capture_file::{Order, PcapFile, PcapNgFile, gzip, zstd};
use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::error::IngestError;

#[test]
fn what_is_no_capture_is_named() {
    let foreign = "open capture f: not a pcap or pcapng file; ";
    for (bytes, looks_like) in [
        (b"\x7fELF\x02\x01\x01".to_vec(), "it is a program (ELF)"),
        (b"PK\x03\x04rest".to_vec(), "it is a zip archive: unpack it first"),
        (
            b"12:00:00 IP 10.0.0.1\n".to_vec(),
            "it looks like text: write a capture with `tcpdump -w FILE`",
        ),
        (b"hi".to_vec(), "it looks like text: write a capture with `tcpdump -w FILE`"),
        (
            b"\x34\xcd\xb2\xa1\x02\0\x04\0".to_vec(),
            "it is a Kuznetzov-modified pcap: convert it with `editcap -F pcapng`",
        ),
        (
            zstd(&gzip(&PcapFile::new(Order::Little, false).bytes)),
            "it is gzip inside a compressed file: unpack the outer one first",
        ),
        (vec![0; 600], "its format is unknown: try `editcap -F pcapng`"),
    ] {
        check(&bytes, &[&format!("{foreign}{looks_like}")]);
    }
}

#[test]
fn empty_and_damaged_starts() {
    let header = "no frame can be read";
    check(
        &[],
        &["open capture f: the file is empty; check that what writes it has begun to write"],
    );
    check(
        &gzip(&[]),
        &["open capture f: the file is empty; check that what writes it has begun to write"],
    );
    check(
        &PcapFile::with_header(Order::Big, false, 3, 0, 1).bytes,
        &[&format!("open capture f: format version 3.4 is not supported, at byte 0; {header}")],
    );
    check(
        &[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 1, 2, 3, 4],
        &[&format!("open capture f: a section has no valid byte-order magic, at byte 0; {header}")],
    );
    let section = PcapNgFile::new(Order::Little).bytes;
    check(
        &section[..20],
        &[&format!(
            "open capture f: the file ends after 20 of {} bytes of a record, at byte 0; {header}",
            section.len()
        )],
    );
}

#[test]
fn what_the_system_refuses() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing.pcap");
    let error = CaptureSet::open(&[&missing]).unwrap_err();
    assert!(matches!(&error, IngestError::Open { file, .. } if file.ends_with("missing.pcap")));
    assert!(std::error::Error::source(&error).is_some());

    let error = CaptureSet::open(&[directory.path()]).unwrap_err();
    assert!(error.to_string().ends_with("it is a directory; name the files in it"));

    let error = CaptureSet::open(&["-", "-"]).unwrap_err();
    assert!(matches!(error, IngestError::StdinTwice));
}
