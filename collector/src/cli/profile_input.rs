//! Files and rings of NCCL's profiler plugin, read piece by piece.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::ingest::whole_file;
use railscope_core::analysis::proxy::ProcessRecords;
use railscope_core::decode::profiler::{Header, NotProfiler, Stream, read_ring};

/// Bytes that are read at a time.
const PIECE: usize = 1 << 18;

/// The place of a ring's number of lanes, which a file has not.
const LANES: std::ops::Range<usize> = 40..44;

/// Reads a file, or a ring that a killed process left behind; reports call it `name`.
///
/// # Errors
///
/// When it cannot be read, or is none of the plugin.
pub(super) fn read(path: &Path, name: String) -> Result<ProcessRecords, String> {
    let mut records = ProcessRecords::new(name);
    let start = whole_file::read_start(path, Header::BYTES).map_err(|error| error.to_string())?;
    if start.get(LANES).is_some_and(|lanes| lanes.iter().any(|byte| *byte != 0)) {
        let bytes = whole_file::read(path).map_err(|error| error.to_string())?;
        read_ring(&bytes, &mut |item| records.take(item)).map_err(why)?;
        records.finish();
        return Ok(records);
    }
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    let mut stream = Stream::default();
    let mut piece = vec![0; PIECE];
    loop {
        let read = file.read(&mut piece).map_err(|error| error.to_string())?;
        if read == 0 {
            break;
        }
        let bytes = piece.get(..read).unwrap_or_default();
        stream.feed(bytes, &mut |item| records.take(item)).map_err(why)?;
    }
    records.is_cut = !stream.is_whole();
    stream.end(&mut |item| records.take(item)).map_err(why)?;
    records.finish();
    Ok(records)
}

fn why(problem: NotProfiler) -> String {
    match problem {
        NotProfiler::Magic => "no file of the profiler plugin".into(),
        NotProfiler::Version(version) => {
            format!(
                "version {version} of the profiler's format is not known: use a newer railscope"
            )
        }
        NotProfiler::Short => "it ends within its header".into(),
    }
}
