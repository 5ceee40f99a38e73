//! `railscope place-profiler`: puts NCCL's profiler plugin where jobs in other containers find it. The image has no
//! other program that copies.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
use tempfile::NamedTempFile;

use super::notice::notice;

/// Options of `railscope place-profiler`, as typed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  railscope place-profiler /shared/lib     for jobs that see /shared and not this machine's /usr/lib")]
pub(super) struct PlaceProfilerArgs {
    /// Existing folder to copy it to
    folder: PathBuf,
    /// The plugin, where packages and the image have it
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/usr/lib/railscope/libnccl-profiler-railscope.so"
    )]
    from: PathBuf,
}

pub(super) fn run(args: &PlaceProfilerArgs) -> anyhow::Result<()> {
    let plugin =
        std::fs::read(&args.from).with_context(|| format!("read {}", args.from.display()))?;
    ensure!(plugin.starts_with(b"\x7fELF"), "{} is no library", args.from.display());
    let name = args.from.file_name().context("the plugin's path names no file")?;
    let target = args.folder.join(name);
    let is_new = place(&plugin, &target).with_context(|| format!("write {}", target.display()))?;
    let done = if is_new { "written" } else { "has it already" };
    notice(format!("{}: {done}", target.display()));
    Ok(())
}

/// Writes the file, unless it has these bytes; says whether it was written.
///
/// Jobs that run with an older plugin have it mapped: they keep theirs, because the file is replaced as a whole.
fn place(plugin: &[u8], target: &Path) -> io::Result<bool> {
    let is_file = target.symlink_metadata().is_ok_and(|found| found.is_file());
    if is_file && std::fs::read(target)? == plugin {
        return Ok(false);
    }
    let mut file = NamedTempFile::new_in(target.parent().unwrap_or(Path::new(".")))?;
    file.write_all(plugin)?;
    // Whoever runs the job may load it.
    file.as_file().set_permissions(Permissions::from_mode(0o644))?;
    file.persist(target)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_plugin_is_replaced_as_a_whole_and_the_same_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("plugin.so");
        assert!(place(b"\x7fELF one", &target).unwrap());
        let running = std::fs::File::open(&target).unwrap();
        assert!(!place(b"\x7fELF one", &target).unwrap());
        assert!(place(b"\x7fELF another", &target).unwrap());
        assert_eq!(std::fs::read(&target).unwrap(), b"\x7fELF another");
        assert_eq!(io::read_to_string(running).unwrap(), "\x7fELF one");
        assert_eq!(target.metadata().unwrap().permissions().mode() & 0o777, 0o644);
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_library_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("text");
        std::fs::write(&from, "no library").unwrap();
        let args = PlaceProfilerArgs { folder: folder.path().to_owned(), from };
        assert!(run(&args).unwrap_err().to_string().ends_with("is no library"));
    }
}
