//! The watched functions of a library file: any bytes, as the file.

use std::collections::BTreeSet;
use std::io::Cursor;

use railscope::ingest::probe::functions;

/// Panics if an invariant does not hold.
pub fn check(bytes: &[u8]) {
    let first = functions(Cursor::new(bytes));
    let again = functions(Cursor::new(bytes));
    assert_eq!(first.is_ok(), again.is_ok(), "the file decides");
    let Ok(found) = first else { return };
    assert_eq!(found, again.unwrap_or_default());
    let names: BTreeSet<&str> = found.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), found.len(), "each function once: {found:?}");
    for name in names {
        let is_in_file = bytes.windows(name.len()).any(|piece| piece == name.as_bytes());
        assert!(is_in_file, "the file does not name {name}");
    }
}
