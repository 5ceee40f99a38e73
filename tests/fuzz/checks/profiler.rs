//! Files and rings of NCCL's profiler plugin.

use railscope_core::analysis::proxy::{ProcessRecords, judgements};
use railscope_core::decode::profiler::{Item, NotProfiler, Record, Stream, read_ring};

/// Any bytes are refused or read, in pieces as in one; no more comes out than went in; what is read is
/// judged.
pub fn check(bytes: &[u8]) {
    let whole = read(bytes, bytes.len().max(1));
    // The first byte after the header chooses the length of pieces, as any could.
    let piece = 1 + usize::from(*bytes.get(128).unwrap_or(&6));
    assert_eq!(whole, read(bytes, piece), "pieces of {piece} bytes");
    let mut ring = Vec::new();
    let is_ring = read_ring(bytes, &mut |item| ring.push(item)).is_ok();
    let mut processes = Vec::new();
    for items in [whole.ok(), is_ring.then_some(ring)].into_iter().flatten() {
        let words: u64 = items.iter().map(words).sum();
        assert!(words <= bytes.len() as u64 / 8 + 1, "{words} words from {} bytes", bytes.len());
        let mut records = ProcessRecords::new(String::new());
        items.into_iter().for_each(|item| records.take(item));
        records.finish();
        processes.push(records);
    }
    for late in judgements(&processes).into_iter().filter_map(|one| one.late) {
        assert!(late.collectives <= late.judged);
    }
}

fn read(bytes: &[u8], piece: usize) -> Result<Vec<Item>, NotProfiler> {
    let mut items = Vec::new();
    let mut stream = Stream::default();
    for piece in bytes.chunks(piece) {
        stream.feed(piece, &mut |item| items.push(item))?;
    }
    stream.end(&mut |item| items.push(item))?;
    Ok(items)
}

/// Words that a record takes.
fn words(item: &Item) -> u64 {
    match item {
        Item::Record(Record::Collective(_)) => 8,
        Item::Record(Record::OperationStart(_)) => 5,
        Item::Record(_) => 3,
        _ => 0,
    }
}
