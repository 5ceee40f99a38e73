//! What an event costs, ring included, and what a job's records weigh.
//!
//! `cargo bench -p railscope-profiler`

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    dead_code,
    reason = "the tests' host is more than is measured; it fails by panicking"
)]
#![cfg(target_os = "linux")]

#[path = "../../tests/host/descriptor.rs"]
mod descriptor;
#[path = "../../tests/host/sys.rs"]
mod sys;

use std::time::Instant;

use descriptor::Descriptor;
use sys::Nccl;

/// The job of NCCL's pull request 2359: operations, and transfers of all of them.
const OPERATIONS: i32 = 1664;
const TRANSFERS: i32 = 14_976;

fn main() {
    let runs = 21;
    for (name, mask) in [("file and ring", "30"), ("lease only", "0")] {
        let nccl = Nccl::load(6, &[("RAILSCOPE_PROFILER_MASK", mask)]);
        let ctx = nccl.init(1, 0);
        let mut sends: Vec<f64> = (0..runs).map(|_| time(&nccl, ctx, true)).collect();
        let mut receives: Vec<f64> = (0..runs).map(|_| time(&nccl, ctx, false)).collect();
        sends.sort_by(f64::total_cmp);
        receives.sort_by(f64::total_cmp);
        nccl.finalize(ctx);
        let lost = nccl.end().lost();
        println!(
            "{name}: ns a send {:.0} (5 calls), a receive {:.0} (5 calls), medians of {runs}; lost {lost:?}",
            sends[runs / 2],
            receives[runs / 2]
        );
    }
    kernels();
    weigh();
    crowd();
}

/// Nanoseconds of a transfer with all of its states.
fn time(nccl: &Nccl, ctx: usize, is_send: bool) -> f64 {
    const COUNT: i32 = 20_000;
    let op = nccl.start(ctx, Descriptor::operation(6, 0, 1, is_send));
    let mut parts: Vec<Descriptor> =
        (0..COUNT).map(|number| Descriptor::transfer(6, op, number)).collect();
    let states = if is_send { [8, 20, 9] } else { [10, 11, 12] };
    let begin = now();
    for part in &mut parts {
        let handle = nccl.start_quickly(ctx, part);
        for state in states {
            nccl.state(handle, state, 65_536);
        }
        nccl.stop(handle);
    }
    let took = begin.elapsed();
    nccl.stop(op);
    took.as_nanos() as f64 / f64::from(COUNT)
}

/// Channels of kernels: begun, ended by the GPU's timer, stopped.
fn kernels() {
    const CHANNELS: u32 = 20_000;
    let nccl = Nccl::load(6, &[("RAILSCOPE_PROFILER_MASK", "94")]);
    let ctx = nccl.init(1, 0);
    let coll = nccl.start(ctx, Descriptor::all_reduce(6, 0, 0, 1));
    let mut took: Vec<f64> = (0..21)
        .map(|_| {
            let mut channels: Vec<Descriptor> =
                (0..CHANNELS).map(|at| Descriptor::kernel(6, coll, at as u8, 1)).collect();
            let begin = now();
            for channel in &mut channels {
                let handle = nccl.start_quickly(ctx, channel);
                nccl.state(handle, 22, 2);
                nccl.stop(handle);
            }
            begin.elapsed().as_nanos() as f64 / f64::from(CHANNELS)
        })
        .collect();
    took.sort_by(f64::total_cmp);
    nccl.finalize(ctx);
    let lost = nccl.end().lost();
    println!("ns a channel of a kernel {:.0} (3 calls), median of 21; lost {lost:?}", took[10]);
}

#[expect(clippy::disallowed_methods, reason = "it measures")]
fn now() -> Instant {
    Instant::now()
}

/// Bytes of a file.
fn weigh() {
    let nccl = Nccl::load(6, &[]);
    let ctx = nccl.init(1, 0);
    let mut coll = 0;
    for op in 0..OPERATIONS {
        if op % 16 == 0 {
            coll = nccl.start(ctx, Descriptor::all_reduce(6, 0, 0, 1));
            nccl.stop(coll);
        }
        let handle = nccl.start(ctx, Descriptor::operation(6, coll, 1, op % 2 == 0));
        for number in 0..TRANSFERS / OPERATIONS {
            let part = nccl.start(ctx, Descriptor::transfer(6, handle, number));
            nccl.stop(part);
        }
        nccl.stop(handle);
    }
    nccl.finalize(ctx);
    let recorded = nccl.end();
    println!(
        "{OPERATIONS} operations with {TRANSFERS} transfers: {} bytes, lost {:?}",
        recorded.bytes,
        recorded.lost()
    );
}

/// Threads that record at the same time.
fn crowd() {
    for threads in [1, 2, 4, 16] {
        let nccl = Nccl::load(6, &[]);
        let ctx = nccl.init(1, 0);
        let times: Vec<f64> = std::thread::scope(|scope| {
            let running: Vec<_> =
                (0..threads).map(|_| scope.spawn(|| time(&nccl, ctx, true))).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        nccl.finalize(ctx);
        let recorded = nccl.end();
        let mean = times.iter().sum::<f64>() / f64::from(threads);
        println!("{threads} threads: ns a send {mean:.0} on the clock, lost {:?}", recorded.lost());
    }
}
