//! `cargo xtask ebpf`: builds the kernel programs into the objects that railscope carries, on the
//! pinned stable compiler.
//!
//! The BPF target has no precompiled `core`, and rustc has no linker for it: both are fetched into
//! `target/ebpf-tools`. The objects are committed, so that nobody else needs these tools.

mod stack;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use object::build::elf;
use object::elf::SHT_STRTAB;
use object::{Object, ObjectSection, SectionKind};
use sha2::{Digest, Sha256};

use crate::mirror;
use crate::repository::{command, root};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Build, and compare with the committed objects instead of replacing them
    #[arg(long)]
    check: bool,
}

/// Architectures of the host: registers of probed functions differ.
const ARCHITECTURES: [&str; 2] = ["x86_64", "aarch64"];

const LINKER_VERSION: &str = "0.13.0";

/// The compiler's own sources, as Debian packs them for exactly this release.
const SOURCE: Source = Source {
    release: "1.95.0",
    path: "pool/main/r/rustc/rust-src_1.95.0+dfsg1-2~bpo13+1_all.deb",
    sha256: "7b76db5b880a77f9e52975d2baa6209d2f76d2c9c2789515c3088cb960e2c83b",
};

struct Source {
    release: &'static str,
    path: &'static str,
    sha256: &'static str,
}

/// `cargo xtask ebpf`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if options.check {
        check()?;
        return Ok(ExitCode::SUCCESS);
    }
    for (built, name) in objects()? {
        fs::copy(&built, root().join(&name)).with_context(|| format!("write {name}"))?;
        println!("{name}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Fails if the committed objects differ from what the sources build.
pub(crate) fn check() -> Result<()> {
    let mut differ = Vec::new();
    for (built, name) in objects()? {
        if !is_same_code(&built, &root().join(&name))? {
            differ.push(name);
        }
    }
    ensure!(
        differ.is_empty(),
        "not built from these sources: {}; run `cargo xtask ebpf` and commit",
        differ.join(", ")
    );
    Ok(())
}

/// Whether the tools are there, or could be fetched.
pub(crate) fn has_tools() -> bool {
    Tools::ready().is_ok()
}

/// Builds the object of each architecture; where it is, and where the committed one is.
fn objects() -> Result<Vec<(PathBuf, String)>> {
    let tools = Tools::ready()?;
    let build = |architecture: &&str| {
        let name = format!("collector/ebpf/railscope.{architecture}.bpf.o");
        Ok((tools.build(architecture)?, name))
    };
    ARCHITECTURES.iter().map(build).collect()
}

/// The tools for building.
struct Tools {
    linker: PathBuf,
    library: PathBuf,
}

impl Tools {
    /// Fetches the missing ones.
    fn ready() -> Result<Self> {
        let folder = root().join("target/ebpf-tools");
        fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        Ok(Self { linker: linker(&folder)?, library: library(&folder)? })
    }

    /// The object for hosts of one architecture, without debug information.
    fn build(&self, architecture: &str) -> Result<PathBuf> {
        let target = root().join("target/ebpf").join(architecture);
        // Headers are not aligned; kernels of both architectures read unaligned words.
        let mut flags = format!(
            "--cfg=bpf_target_arch=\"{architecture}\" -Cdebuginfo=2 -Clink-arg=--btf \
             -Ctarget-feature=+allows-misaligned-mem-access -Clinker={} \
             --remap-path-prefix={}=/railscope",
            self.linker.display(),
            root().display()
        );
        for crates in registries()? {
            // Writing to a `String` cannot fail.
            _ = write!(flags, " --remap-path-prefix={}=/cargo", crates.display());
        }
        let mut cargo = command("cargo");
        cargo
            .args(["build", "--quiet", "--profile", "dist", "--package", "railscope-ebpf"])
            .args(["--bin", "railscope-ebpf", "-Z", "build-std=core"])
            .args(["--target", "bpfel-unknown-none", "--target-dir"])
            .arg(&target)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("__CARGO_TESTS_ONLY_SRC_ROOT", &self.library)
            .env("RUSTFLAGS", flags);
        succeed(cargo, "build the kernel programs")?;
        let built = target.join("bpfel-unknown-none/dist/railscope-ebpf");
        let stripped = target.join("railscope.bpf.o");
        strip(&built, &stripped).with_context(|| format!("strip {}", built.display()))?;
        stack::check(&fs::read(&stripped)?).with_context(|| stripped.display().to_string())?;
        for folder in registries()?.into_iter().chain([root().to_owned()]) {
            let names = names(&stripped, &folder)?;
            ensure!(!names, "{} contains a path of the machine that built it", stripped.display());
        }
        Ok(stripped)
    }
}

/// Where cargo keeps the sources of crates.
fn registries() -> Result<Vec<PathBuf>> {
    let home = std::env::home_dir().context("no home folder")?;
    let cargo = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let sources = cargo.join("registry/src");
    let entries = fs::read_dir(&sources).with_context(|| format!("list {}", sources.display()))?;
    Ok(entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
}

/// Whether an object contains the path of a folder.
fn names(object: &Path, folder: &Path) -> Result<bool> {
    let bytes = fs::read(object).with_context(|| format!("read {}", object.display()))?;
    let folder = folder.display().to_string().into_bytes();
    Ok(bytes.windows(folder.len()).any(|window| window == folder))
}

/// Strips debug information.
fn strip(object: &Path, stripped: &Path) -> Result<()> {
    let bytes = fs::read(object)?;
    let mut builder = elf::Builder::read(&*bytes)?;
    for section in &mut builder.sections {
        let name = section.name.to_string();
        section.delete = name.starts_with(".debug_") || name.starts_with(".rel.debug_");
    }
    // LLVM keeps the names of sections and of symbols in one section, the writer in two.
    let names = builder.sections.add();
    names.name = b".shstrtab"[..].into();
    names.sh_type = SHT_STRTAB;
    names.data = elf::SectionData::SectionString;
    // Symbols of removed sections are removed, too.
    builder.delete_orphan_symbols();
    let mut out = Vec::new();
    builder.write(&mut out)?;
    Ok(fs::write(stripped, out)?)
}

/// bpf-linker, linked against rustc's own LLVM.
fn linker(folder: &Path) -> Result<PathBuf> {
    let linker = folder.join("bin/bpf-linker");
    if linker.exists() {
        return Ok(linker);
    }
    eprintln!("building bpf-linker {LINKER_VERSION}");
    let llvm = folder.join("llvm/lib");
    fs::create_dir_all(&llvm).with_context(|| format!("create {}", llvm.display()))?;
    for library in rustc_libraries()? {
        let name = library.file_name().context("a library without a name")?;
        link(&library, &llvm.join(name))?;
        if name.to_string_lossy().starts_with("libLLVM.so") {
            link(&library, &llvm.join("libLLVM.so"))?;
        }
    }
    let mut install = command("cargo");
    install
        .args(["install", "--quiet", "--locked", "bpf-linker", "--version", LINKER_VERSION])
        .args(["--no-default-features", "--features", "llvm-22", "--root"])
        .arg(folder)
        .env("LLVM_PREFIX", folder.join("llvm"));
    succeed(install, "build bpf-linker")?;
    Ok(linker)
}

/// The sources of `core`.
fn library(folder: &Path) -> Result<PathBuf> {
    let library = folder.join(format!("usr/src/rustc-{}/library", SOURCE.release));
    if library.exists() {
        return Ok(library);
    }
    let version = output(command("rustc").arg("--version"))?;
    ensure!(
        version.starts_with(&format!("rustc {} ", SOURCE.release)),
        "the sources of rustc {} are known here, the compiler is {}: change SOURCE in xtask/src/ebpf/mod.rs",
        SOURCE.release,
        version.trim()
    );
    eprintln!("fetching the sources of rustc {}", SOURCE.release);
    let package = folder.join("rust-src.deb");
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--fail", "--location", "--retry", "3", "--output"]);
    curl.arg(&package).arg(format!("{}/{}", mirror::of_host()?, SOURCE.path));
    succeed(curl, "fetch the compiler's sources")?;
    let bytes = fs::read(&package).with_context(|| format!("read {}", package.display()))?;
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    ensure!(digest == SOURCE.sha256, "{} is not what it was: {digest}", SOURCE.path);
    let mut unpack = Command::new("dpkg-deb");
    unpack.arg("-x").arg(&package).arg(folder);
    succeed(unpack, "unpack the compiler's sources")?;
    Ok(library)
}

/// rustc's shared libraries of LLVM.
fn rustc_libraries() -> Result<Vec<PathBuf>> {
    let sysroot = output(command("rustc").args(["--print", "sysroot"]))?;
    let folder = Path::new(sysroot.trim()).join("lib");
    let entries = fs::read_dir(&folder).with_context(|| format!("list {}", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_llvm = |path: &PathBuf| path.to_string_lossy().contains("/libLLVM");
    let libraries: Vec<_> = paths.filter(is_llvm).collect();
    ensure!(!libraries.is_empty(), "rustc has no LLVM of its own in {}", folder.display());
    Ok(libraries)
}

fn link(library: &Path, link: &Path) -> Result<()> {
    _ = fs::remove_file(link);
    std::os::unix::fs::symlink(library, link).with_context(|| format!("link {}", link.display()))
}

/// Whether two objects hold the same instructions and the same data.
fn is_same_code(one: &Path, other: &Path) -> Result<bool> {
    Ok(code(one)? == code(other)?)
}

/// The sections with instructions and constant data, by name.
fn code(path: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let bytes = fs::read(path).with_context(|| format!("read {}", path.display()))?;
    let file = object::File::parse(&*bytes).with_context(|| path.display().to_string())?;
    let is_code = |kind| matches!(kind, SectionKind::Text | SectionKind::ReadOnlyData);
    let sections = file.sections().filter(|section| is_code(section.kind()));
    sections.map(|section| Ok((section.name()?.to_owned(), section.data()?.to_vec()))).collect()
}

fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("start {program}"))?;
    ensure!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn succeed(mut command: Command, what: &str) -> Result<()> {
    let status = command.status().with_context(|| format!("start: {what}"))?;
    ensure!(status.success(), "{what} failed");
    Ok(())
}
