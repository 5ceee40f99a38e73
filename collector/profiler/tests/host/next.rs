//! A second plugin behind this one: the library itself, in another place.

use super::descriptor::Descriptor;
use super::sys::{Nccl, built, mask};

#[test]
fn calls_go_on_to_a_second_plugin() {
    for version in 1..=7 {
        let copy = tempfile::tempdir().unwrap();
        let path = copy.path().join("libsecond.so");
        std::fs::copy(built(), &path).unwrap();
        let nccl = Nccl::load(version, &[("RAILSCOPE_PROFILER_NEXT", path.to_str().unwrap())]);
        let ctx = nccl.init(0xabc, 1);
        assert_eq!(mask(&nccl), 30);
        let group = nccl.start(ctx, Descriptor::new(version, 1, 0, 0));
        let coll = Descriptor::all_reduce(version, 0, 1, 17);
        let coll = if version >= 5 { coll.in_group(group) } else { coll };
        let coll = nccl.start(ctx, coll);
        nccl.stop(coll);
        let op = nccl.start(ctx, Descriptor::operation(version, coll, 2, true));
        let part = nccl.start(ctx, Descriptor::transfer(version, op, 0));
        nccl.state(part, 9, 5);
        nccl.stop(op);
        nccl.stop(part);
        nccl.finalize(ctx);
        let recorded = nccl.end();
        // Both wrote a file into the same folder, and both know all.
        assert_eq!(recorded.headers.len(), 2);
        assert_eq!(recorded.records.len(), 2 * 4, "version {version}: {recorded:?}");
        assert_eq!(recorded.lost(), [0; 8]);
    }
}

#[test]
fn a_second_plugin_that_is_not_there_changes_nothing() {
    for next in ["/nonexistent.so", "libc.so.6"] {
        let nccl = Nccl::load(6, &[("RAILSCOPE_PROFILER_NEXT", next)]);
        let ctx = nccl.init(1, 0);
        let coll = nccl.start(ctx, Descriptor::all_reduce(6, 0, 0, 0));
        nccl.stop(coll);
        nccl.finalize(ctx);
        assert_eq!(nccl.end().records.len(), 1);
    }
}
