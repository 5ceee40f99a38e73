//! What the feature `verbs` needs of the host: rdma-sys makes its bindings at build time.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::repository::{command, is_installed};

/// Where Debian and Ubuntu put libclang 14. rdma-sys 0.3 has bindgen 0.59, which newer ones break.
const LIBCLANG: &str = "/usr/lib/llvm-14/lib";

/// What bindgen reads, and the package of Debian that has it.
const FILES: &[(&str, &str)] = &[
    ("/usr/include/infiniband/verbs.h", "libibverbs-dev"),
    ("/usr/include/rdma/rdma_cma.h", "librdmacm-dev"),
];

/// The packages that are missing to build with the feature.
pub(crate) fn missing_packages() -> Vec<&'static str> {
    let headers = FILES.iter().filter(|(file, _)| !Path::new(file).exists());
    let mut missing: Vec<_> = headers.map(|(_, package)| *package).collect();
    if env::var_os("LIBCLANG_PATH").is_none() && !Path::new(LIBCLANG).join("libclang.so").exists() {
        missing.push("libclang-14-dev");
    }
    if !is_installed("pkg-config") {
        missing.push("pkg-config");
    }
    missing
}

/// Cargo, told where libclang is.
pub(crate) fn cargo() -> Command {
    let mut cargo = command("cargo");
    if env::var_os("LIBCLANG_PATH").is_none() {
        cargo.env("LIBCLANG_PATH", LIBCLANG);
    }
    cargo
}
