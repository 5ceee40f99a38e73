//! The recorded jobs in `tests/captures`, unpacked.

use std::fs::File;
use std::path::Path;

/// A recorded job in its own folder.
pub struct Recording(tempfile::TempDir);

impl Recording {
    pub fn unpack(run: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let archive = format!("../tests/captures/{run}.tar.zst");
        let archive = File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join(archive)).unwrap();
        let bytes = zstd::Decoder::new(archive).unwrap();
        tar::Archive::new(bytes).unpack(folder.path()).unwrap();
        Self(folder)
    }

    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// File names of its captures, sorted.
    pub fn captures(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut captures: Vec<String> = names.filter(|name| name.ends_with(".pcap")).collect();
        captures.sort_unstable();
        captures
    }
}
