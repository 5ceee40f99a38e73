//! Parts, decompressed: items in order of time, a lane for each capture, and nothing that refers to what is not
//! there.

use std::io::Cursor;

use railscope::part::{Part, Parts};
use railscope_core::pipeline::lane::Lane;

/// What the seeds say wrote them.
const VERSION: &str = "seeds";

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    check_of(data, VERSION);
}

/// The same for what a version of the program wrote.
pub fn check_of(data: &[u8], version: &str) {
    let records = Box::new(Cursor::new(data.to_vec()));
    let Ok(part) = Part::of_records("a.part".to_owned(), records, version) else { return };
    let captures = part.head().captures.len();
    let mut parts = Parts::new(vec![part]).unwrap();
    assert_eq!(parts.captures(), captures);
    loop {
        match parts.next_item() {
            Ok(Some((place, _))) => assert!(place < captures),
            Ok(None) => break,
            Err(_) => return,
        }
    }
    let Ok((lanes, missed)) = parts.finish() else { return };
    assert_eq!((lanes.len(), missed.len()), (captures, 1));
    assert!(lanes.iter().all(Lane::is_consistent));
}
