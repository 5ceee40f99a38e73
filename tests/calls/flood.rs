//! A user who makes more calls than the kernel's ring takes.

use std::io::Write as _;

use railscope_testbed::clock::eventually;

use super::stage::{Stage, start, watch};

#[test]
fn a_users_flood_hides_no_calls_of_others() {
    let Some(stage) = Stage::set("a_users_flood_hides_no_calls_of_others") else { return };
    let library = stage.library();
    let alone = {
        let mut watcher = watch();
        let caller = start(&mut stage.caller());
        watcher.until_said(library.to_str().unwrap());
        watcher.watch(caller).len()
    };
    assert!(alone > 60);
    let mut watcher = watch();
    let caller = start(&mut stage.caller());
    let mut floods = [(); 2].map(|()| start(&mut stage.flood()));
    watcher.until_said(library.to_str().unwrap());
    for flood in &mut floods {
        flood.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }
    eventually("calls are refused", || {
        watcher.poll();
        watcher.missed.contains_key("calls.refused")
    });
    let pid = caller.id();
    watcher.watch(caller);
    // What is in the ring is read in several turns, and what was lost is counted now and then.
    (0..120).for_each(|_| watcher.poll());
    for flood in &mut floods {
        flood.kill().unwrap();
        flood.wait().unwrap();
    }
    let seen = watcher.calls.iter().filter(|call| call.caller.pid == pid).count();
    assert_eq!(seen, alone, "{:?}", watcher.missed);
    assert_eq!(watcher.missed.get("calls.lost"), None);
}
