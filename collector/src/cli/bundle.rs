//! `--bundle`, and bundles as input: everything of one job in one file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::VERSION;
use super::notice::notice;
use super::progress::StatusLine;
use super::source::SourceArgs;
use crate::bundle::manifest::{Host, Role};
use crate::bundle::read::{self, Bundle};
use crate::bundle::write::{self, Content, Head, Item};
use crate::export::json;
use crate::ingest::whole_file;
use bytesize::ByteSize;
use railscope_core::report::Report;
use railscope_core::report::words::number::counted;

/// Drivers whose versions a bundle keeps, as `/sys/module` names them.
const DRIVERS: [&str; 12] = [
    "mlx5_core",
    "mlx5_ib",
    "mlx4_core",
    "bnxt_en",
    "bnxt_re",
    "irdma",
    "ice",
    "efa",
    "ena",
    "rdma_rxe",
    "nvidia",
    "nvidia_peermem",
];

/// Longest file of `/sys` and `/proc` that is read.
const LONGEST: usize = 4096;

/// Refuses to replace what is no bundle: `--bundle *.pcap` without a name would replace the first capture.
///
/// # Errors
///
/// Something else is there.
pub(super) fn check_place(place: &Path) -> anyhow::Result<()> {
    let Ok(there) = fs::metadata(place) else { return Ok(()) };
    ensure!(!there.is_dir(), "{} is a folder: name a file in it", place.display());
    ensure!(there.is_file(), "{} is no file: name one for the bundle", place.display());
    let start = || whole_file::read_start(place, LONGEST).unwrap_or_default();
    ensure!(
        there.len() == 0 || read::is_bundle(&start()),
        "{} is there and is no bundle: name another file, or remove it",
        place.display()
    );
    Ok(())
}

/// Refuses what a bundle cannot keep, before anything is read.
///
/// # Errors
///
/// When input comes through a pipe, or only a part of the report is asked for.
pub(super) fn check(sources: &SourceArgs, is_filtered: bool) -> anyhow::Result<()> {
    ensure!(
        !is_filtered,
        "--bundle keeps the whole job: remove --host, --qpn, --opcode and --filter"
    );
    for (_, path, name) in sources.given()? {
        let is_pipe = fs::metadata(&path).is_ok_and(|file| !file.is_file());
        ensure!(
            path != Path::new("-") && !is_pipe,
            "--bundle reads each file twice, which {name} cannot be: write it to a file first"
        );
    }
    Ok(())
}

/// Writes all sources, `extra` and the report into a bundle.
///
/// # Errors
///
/// When a file cannot be read again, or the bundle cannot be written.
pub(super) fn write(
    path: &Path,
    options: BTreeMap<String, String>,
    sources: &SourceArgs,
    report: &Report,
    extra: Vec<Item>,
) -> anyhow::Result<()> {
    let given = sources.given()?;
    let same = |one: &Path| fs::canonicalize(one).ok().zip(fs::canonicalize(path).ok());
    let is_input = |one: &Path| same(one).is_some_and(|(one, other)| one == other);
    ensure!(
        !given.iter().any(|(_, one, _)| is_input(one)),
        "{} is one of the files to read: choose another --bundle",
        path.display()
    );
    let file = |(role, path, name): (Role, PathBuf, String)| {
        let written_ns = whole_file::written_ns(&path);
        Item { role, name, content: Content::File(path), written_ns }
    };
    let mut items: Vec<Item> = given.into_iter().map(file).collect();
    let kept = sources.config().kept()?;
    let text = |role, name: &str, bytes| Item {
        role,
        name: name.to_owned(),
        content: Content::Bytes(bytes),
        written_ns: None,
    };
    items.extend(kept.config.map(|it| text(Role::Config, "settings.toml", it.into_bytes())));
    items.extend(kept.rails.map(|it| text(Role::Rails, "rails.toml", it.into_bytes())));
    items.extend(extra);
    let mut bytes = Vec::new();
    json::write(report, &mut bytes).context("write the report")?;
    items.push(text(Role::Report, "report.json", bytes));
    let mut options: BTreeMap<_, _> = options.into_iter().chain(sources.label_options()).collect();
    if !kept.set.is_empty() {
        options.insert("set".to_owned(), kept.set);
    }
    let tool = format!("railscope {VERSION}");
    pack(path, Head { tool, scrubbed: false, host: host(), options }, &items)
}

/// Writes a bundle, shows the progress, and says what is in it.
///
/// # Errors
///
/// When a file cannot be read, or the bundle cannot be written.
pub(super) fn pack(path: &Path, head: Head, items: &[Item]) -> anyhow::Result<()> {
    pack_quietly(path, head, items)?;
    announce(path, path, items.len())
}

/// Says how large the bundle at `path` is, which will be called `name`.
pub(super) fn announce(path: &Path, name: &Path, files: usize) -> anyhow::Result<()> {
    let size = fs::metadata(path).with_context(|| format!("read {}", path.display()))?.len();
    notice(format!("{}: {}, {}", name.display(), counted(files as u64, "file"), ByteSize(size)));
    Ok(())
}

/// Writes a bundle and shows the progress.
pub(super) fn pack_quietly(path: &Path, head: Head, items: &[Item]) -> anyhow::Result<()> {
    let status = StatusLine::new();
    let mut done = 0_u64;
    let written = write::write(path, head, items, |bytes| {
        done = done.saturating_add(bytes);
        status.show(format!("writing {}: {} read", path.display(), ByteSize(done)));
    });
    status.finish();
    written.with_context(|| format!("write {}", path.display()))?;
    Ok(())
}

/// Unpacks what `analyze` reads of a bundle.
///
/// # Errors
///
/// When it cannot be read, is not whole, or was changed.
pub(super) fn unpack(path: &Path) -> anyhow::Result<Bundle> {
    read::unpack(path, read::is_input).with_context(|| format!("bundle {}", path.display()))
}

/// This host: name, kernel, versions of drivers.
fn host() -> Host {
    let line = |path: &str| {
        let read = whole_file::read_start(Path::new(path), LONGEST).unwrap_or_default();
        String::from_utf8_lossy(&read).trim().to_owned()
    };
    let version = |name: &&str| {
        let found = line(&format!("/sys/module/{name}/version"));
        // A module of the kernel's own tree has the kernel's version.
        let is_loaded = Path::new("/sys/module").join(name).is_dir();
        let text = if found.is_empty() { "of the kernel".to_owned() } else { found };
        is_loaded.then(|| ((*name).to_owned(), text))
    };
    Host {
        name: line("/proc/sys/kernel/hostname"),
        kernel: line("/proc/sys/kernel/osrelease"),
        drivers: DRIVERS.iter().filter_map(version).collect(),
    }
}
