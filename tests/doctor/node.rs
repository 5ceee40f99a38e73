//! `railscope doctor` on the machine that runs the tests, as root and as nobody.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::require;

/// `nobody` of Debian and most others.
const NOBODY: u32 = 65_534;

#[expect(clippy::disallowed_methods, reason = "it must not take long")]
fn examine(is_nobody: bool) -> (Value, Duration) {
    // Nobody may not enter the folder of every checkout.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("railscope");
    // Not by this process: a test beside it that forks would keep the file open for writing.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_railscope")).arg(&program).status();
    assert!(copied.unwrap().success());
    let mut doctor = Command::new(&program);
    doctor.current_dir("/");
    doctor.args(["doctor", "--json", "--fail-on", "never"]);
    if is_nobody {
        doctor.uid(NOBODY).gid(NOBODY);
    }
    let began = Instant::now();
    let output = doctor.output().unwrap();
    let took = began.elapsed();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (serde_json::from_slice(&output.stdout).unwrap(), took)
}

#[test]
fn this_machine_within_five_seconds() {
    let (examination, took) = examine(false);
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(examination["schema"], "railscope.doctor/1");
    let schema = include_str!("../../collector/schema/railscope.doctor-1.schema.json");
    let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    validator.validate(&examination).unwrap();
    let outcomes = examination["outcomes"].as_array().unwrap();
    assert!(outcomes.iter().any(|outcome| outcome["check"] == "rdma_devices"));
    assert!(
        outcomes
            .iter()
            .any(|outcome| outcome["check"] == "shared_memory" && outcome["status"] != "unknown")
    );
}

#[test]
fn as_nobody_what_is_for_root_only_is_not_checked() {
    if !nix::unistd::geteuid().is_root() {
        return require::lacks("as_nobody_what_is_for_root_only_is_not_checked", "root");
    }
    let (examination, _) = examine(true);
    assert_eq!(examination["is_root"], false);
    let outcomes = examination["outcomes"].as_array().unwrap();
    let firewall = outcomes.iter().find(|outcome| outcome["check"] == "firewall").unwrap();
    assert_eq!(firewall["status"], "unknown", "{firewall}");
}
