//! Libraries are found wherever processes have them.

use std::fs;
use std::process::{Child, Command};

use railscope_core::model::call::Action;

use super::stage::{Stage, start, watch};
use crate::support::require;

/// Reports of caller.c's calls; a call that is reported on entry and on return counts twice.
const CALLS: usize = 68;

/// Runs a script in a mount namespace of its own; `$0` is the stage's folder.
fn in_namespace(stage: &Stage, script: &str) -> Child {
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "sh", "-ec", script]).arg(stage.0.path());
    start(&mut unshare)
}

#[test]
fn processes_that_start_later() {
    let Some(stage) = Stage::set("processes_that_start_later") else { return };
    let mut watcher = watch();
    watcher.poll();
    let first = start(&mut stage.caller());
    watcher.until_said(stage.library().to_str().unwrap());
    // The second maps a file that is already watched.
    let second = start(&mut stage.caller());
    assert_eq!(watcher.watch(second).len(), CALLS);
    assert_eq!(watcher.watch(first).len(), CALLS);
}

#[test]
fn another_mount_namespace() {
    let test = "another_mount_namespace";
    let Some(stage) = Stage::set(test) else { return };
    if !require::has(test, "unshare") {
        return;
    }
    let child = in_namespace(
        &stage,
        "mount -t tmpfs none /mnt; mkdir /mnt/only-here; cp $0/* /mnt/only-here; \
         exec /mnt/only-here/caller",
    );
    let mut watcher = watch();
    watcher.until_said("/mnt/only-here/libnccl.so.2");
    assert!(!fs::exists("/mnt/only-here").unwrap());
    assert_eq!(watcher.watch(child).len(), CALLS);
}

#[test]
fn a_layer_that_containers_share() {
    let test = "a_layer_that_containers_share";
    let Some(stage) = Stage::set(test) else { return };
    let overlay = |name: &str| {
        format!(
            "mount -t tmpfs none /mnt; mkdir /mnt/upper /mnt/work /mnt/{name}; \
             mount -t overlay -o lowerdir=$0,upperdir=/mnt/upper,workdir=/mnt/work none /mnt/{name}; \
             exec /mnt/{name}/caller"
        )
    };
    let mut works = Command::new("unshare");
    let tried = overlay("tried").replace("exec /mnt/tried/caller", "true");
    works.args(["--mount", "sh", "-ec", &tried]).arg(stage.0.path());
    if !require::works(test, &mut works, "a mount of overlayfs") {
        return;
    }
    let children = ["one", "two"].map(|name| in_namespace(&stage, &overlay(name)));
    let mut watcher = watch();
    for name in ["one", "two"] {
        watcher.until_said(&format!("/mnt/{name}/libnccl.so.2"));
    }
    for child in children {
        assert_eq!(watcher.watch(child).len(), CALLS);
    }
}

#[test]
fn a_deleted_file() {
    let Some(stage) = Stage::set("a_deleted_file") else { return };
    let mut watcher = watch();
    let child = start(&mut stage.caller());
    let library = stage.library();
    // Wait until the library is loaded.
    let maps = format!("/proc/{}/maps", child.id());
    while !fs::read_to_string(&maps).unwrap().contains(library.to_str().unwrap()) {
        std::thread::yield_now();
    }
    fs::remove_file(&library).unwrap();
    watcher.until_said(library.to_str().unwrap());
    assert_eq!(watcher.watch(child).len(), CALLS);
}

#[test]
fn a_stripped_library() {
    let test = "a_stripped_library";
    let Some(stage) = Stage::set(test) else { return };
    if !require::has(test, "strip") {
        return;
    }
    let stripped = Command::new("strip").arg("--strip-all").arg(stage.library()).status().unwrap();
    assert!(stripped.success());
    let child = start(&mut stage.caller());
    let mut watcher = watch();
    watcher.until_said(stage.library().to_str().unwrap());
    assert_eq!(watcher.watch(child).len(), CALLS);
}

#[test]
fn nccl_inside_pytorch() {
    let test = "nccl_inside_pytorch";
    let Some(stage) = Stage::set(test) else { return };
    let inside = stage.0.path().join("libtorch_cuda.so");
    let build = |words: &[&str]| {
        let mut compile = Command::new("cc");
        compile.args(["-shared", "-fPIC", "-o"]).arg(&inside).args(words);
        compile.current_dir(stage.0.path());
        assert!(compile.status().unwrap().success(), "{words:?}");
    };
    // NCCL linked in, with symbols.
    fs::copy(stage.library(), &inside).unwrap();
    let child = start(stage.caller().env("LD_PRELOAD", &inside));
    let mut watcher = watch();
    watcher.until_said(inside.to_str().unwrap());
    assert_eq!(watcher.watch(child).len(), CALLS);

    // A library that only uses libnccl.so.2 is not mentioned.
    fs::remove_file(&inside).unwrap();
    fs::write(
        stage.0.path().join("user.c"),
        "int ncclGroupStart(void); int use(void) { return ncclGroupStart(); }",
    )
    .unwrap();
    build(&["user.c", "-L.", "-l:libnccl.so.2"]);
    let child = start(stage.caller().env("LD_PRELOAD", &inside));
    let mut watcher = watch();
    watcher.until_said(stage.library().to_str().unwrap());
    assert_eq!(watcher.watch(child).len(), CALLS);
    assert!(!watcher.said.iter().any(|said| said.contains(inside.to_str().unwrap())));

    // NCCL linked in, without symbols: one warning.
    fs::remove_file(&inside).unwrap();
    fs::write(stage.0.path().join("user.c"), "int ncclGroupStart(void) { return 0; }").unwrap();
    build(&["user.c", "-fvisibility=hidden", "-s"]);
    let child = start(stage.caller().env("LD_PRELOAD", &inside));
    let mut watcher = watch();
    watcher.until_said("symbols were stripped");
    watcher.until_said(stage.library().to_str().unwrap());
    watcher.watch(child);
    let is_about = |said: &&String| said.contains(inside.to_str().unwrap());
    assert_eq!(watcher.said.iter().filter(is_about).count(), 1, "{:?}", watcher.said);
}

#[test]
fn the_programs_leave_a_file_that_nobody_maps() {
    let Some(stage) = Stage::set("the_programs_leave_a_file_that_nobody_maps") else { return };
    let mut watcher = watch();
    for round in 1..=2 {
        watcher.said.clear();
        let child = start(&mut stage.caller());
        // Reported again in the second round: the programs had been detached.
        watcher.until_said(stage.library().to_str().unwrap());
        let calls = watcher.watch(child);
        assert_eq!(calls.len(), CALLS, "round {round}");
        assert!(matches!(calls[0].action, Action::MakeUniqueId { .. }));
        watcher.until_left();
    }
}
