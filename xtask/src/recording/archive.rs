//! A recording as one compressed tar file.
//!
//! The captures of a job's taps hold most frames twice, at the sender and at the receiver. One
//! compression window over all of them takes a third less than one compressed file per tap. Merging
//! them by time first saves less: the two copies are then at irregular distances.

use std::collections::BTreeMap;
use std::io::{self, Read};

/// The strongest level; packing happens once, unpacking is as fast as at any other.
const LEVEL: i32 = 22;

/// 128 MiB, more than any recording, and as much as decoders accept without being asked.
const WINDOW_LOG: u32 = 27;

const MODE: u32 = 0o644;

/// The archive of `files`, by name.
pub(super) fn pack(files: &BTreeMap<String, Vec<u8>>) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
    encoder.long_distance_matching(true)?;
    encoder.window_log(WINDOW_LOG)?;
    encoder.set_pledged_src_size(Some(tar_len(files)))?;
    let mut archive = tar::Builder::new(encoder);
    for (name, bytes) in files {
        // No owner, no time: the same files make the same archive.
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(MODE);
        archive.append_data(&mut header, name, bytes.as_slice())?;
    }
    archive.into_inner()?.finish()
}

/// Size of the archive before compression: the encoder's window need not be larger.
fn tar_len(files: &BTreeMap<String, Vec<u8>>) -> u64 {
    const BLOCK: usize = 512;
    let blocks = |bytes: &Vec<u8>| 1 + bytes.len().div_ceil(BLOCK);
    let end = 2;
    ((files.values().map(blocks).sum::<usize>() + end) * BLOCK) as u64
}

/// The files of an archive, by name.
pub(super) fn unpack(archive: impl Read) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut archive = tar::Archive::new(zstd::Decoder::new(archive)?);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.to_string_lossy().into_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        files.insert(name, bytes);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{pack, unpack};

    #[test]
    fn what_is_packed_comes_out() {
        let files = [("a.pcap", vec![7; 1000]), ("logs/b", Vec::new()), ("truth.json", vec![1])];
        let files: BTreeMap<String, Vec<u8>> =
            files.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
        let archive = pack(&files).unwrap();
        assert_eq!(unpack(archive.as_slice()).unwrap(), files);
        assert_eq!(pack(&files).unwrap(), archive);
    }
}
