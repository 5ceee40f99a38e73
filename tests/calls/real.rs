//! Real libraries, not built by this suite.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use railscope_core::model::call::{Action, Call};
use railscope_core::model::nccl::UniqueId;
use railscope_core::model::qpn::Qpn;

use super::stage::watch;
use crate::support::require;

/// Prints the path at which the dynamic linker finds the library.
const WHERE: &str = "
import ctypes
ctypes.CDLL('libibverbs.so.1')
print(next(line.split()[-1] for line in open('/proc/self/maps') if 'libibverbs.so' in line))
";

/// Crashes in `ibv_destroy_qp`, as there is no device; the test only needs the call to be seen.
const DESTROY: &str = "
import ctypes, sys
verbs = ctypes.CDLL(sys.argv[1])
sys.stdin.readline()
queue_pair = bytearray(160)
queue_pair[52:56] = (0x4711).to_bytes(4, sys.byteorder)
verbs.ibv_destroy_qp((ctypes.c_ubyte * 160).from_buffer(queue_pair))
";

#[test]
fn libnccl() {
    let test = "libnccl";
    let library =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/oracles/nccl/libnccl.so.2"));
    if !require::root(test) || !require::has(test, "python3") {
        return;
    }
    if !library.exists() {
        return require::lacks(test, "a libnccl.so.2 in target/oracles/nccl (.ci/run fetches it)");
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/calls/real_nccl.py");
    let mut python = Command::new("python3");
    python.arg(script).arg(library).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = python.spawn().unwrap();
    let output = child.stdout.take().unwrap();
    let mut watcher = watch();
    watcher.until_said("target/oracles/nccl/libnccl.so.2");
    let calls = watcher.watch(child);
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).unwrap();
    let (digits, code) = line.trim().split_once(' ').unwrap();
    let byte = |place: usize| u8::from_str_radix(&digits[place * 2..][..2], 16).unwrap();
    let id = Some(UniqueId(std::array::from_fn(byte)));

    let actions: Vec<&Action> = calls.iter().map(|call| &call.action).collect();
    assert!(actions.contains(&&Action::MakeUniqueId { id }), "{actions:?}");
    assert!(actions.contains(&&Action::GroupStart) && actions.contains(&&Action::GroupEnd));
    let initialised = Action::Initialise { nranks: 2, rank: 1, id, ids: 1, communicator: None };
    let reported = calls.iter().filter(|call| call.action == initialised);
    let codes: Vec<_> = reported.map(|call| call.returned.map(|returned| returned.code)).collect();
    assert_eq!(codes, [None, Some(Some(code.parse().unwrap()))]);
}

#[test]
fn libibverbs() {
    let test = "libibverbs";
    if !require::root(test) || !require::has(test, "python3") {
        return;
    }
    let python = |script: &str| {
        let mut python = Command::new("python3");
        python.args(["-c", script]);
        python
    };
    if !require::works(test, &mut python(WHERE), "libibverbs.so.1") {
        return;
    }
    let installed = python(WHERE).output().unwrap().stdout;
    // Other programs on this machine may use that file.
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libibverbs.so.1");
    std::fs::copy(String::from_utf8(installed).unwrap().trim_end(), &library).unwrap();
    let child = python(DESTROY).arg(&library).stdin(Stdio::piped()).spawn().unwrap();
    let mut watcher = watch();
    watcher.until_said(library.to_str().unwrap());
    let (calls, _) = watcher.watch_to_the_end(child);
    let [Call { action: Action::DestroyQueuePair { number, .. }, .. }] = calls.as_slice() else {
        panic!("{calls:?}")
    };
    assert_eq!(*number, Some(Qpn::new(0x4711)));
}
