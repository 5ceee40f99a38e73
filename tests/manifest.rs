//! The fixtures match the manifest, byte for byte.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::support::fixture;

#[test]
fn every_fixture_has_a_row_and_its_bytes_are_those_of_the_row() {
    let mut described = BTreeSet::from(["MANIFEST.toml".to_owned()]);
    for row in fixture::all() {
        let bytes = std::fs::read(fixture::path(&row.file)).unwrap();
        assert_eq!(bytes.len() as u64, row.bytes, "{}", row.file);
        let digest = Sha256::digest(&bytes);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, row.sha256, "{}", row.file);
        assert!(!row.made_by.is_empty() && !row.shows.is_empty() && row.snap_bytes > 0);
        assert!(described.insert(row.file), "two rows for one file");
    }
    let entries = std::fs::read_dir(fixture::folder()).unwrap();
    let files = entries.map(Result::unwrap).filter(|entry| entry.file_type().unwrap().is_file());
    let present: BTreeSet<String> =
        files.map(|file| file.file_name().into_string().unwrap()).collect();
    assert_eq!(present, described);
}
