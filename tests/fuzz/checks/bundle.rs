//! Bundles, decompressed: nothing but what the manifest lists, of the size that it says, comes out.

use railscope::bundle::read::{MEMBER_LIMIT, read_archive};

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    let read = || read_archive(data, |_| Ok(Some(Vec::new())));
    let first = read();
    let second = read();
    assert_eq!(first.is_ok(), second.is_ok());
    let (Ok((manifest, members)), Ok((again, same))) = (first, second) else { return };
    assert_eq!((&manifest, &members), (&again, &same));
    assert!(manifest.files.len() <= MEMBER_LIMIT);
    assert_eq!(members.len(), manifest.files.len());
    for (listed, (entry, bytes)) in manifest.files.iter().zip(&members) {
        assert_eq!(listed, entry);
        assert_eq!(entry.bytes, bytes.len() as u64);
    }
}
