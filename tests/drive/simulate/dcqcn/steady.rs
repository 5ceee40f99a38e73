//! The steady state: rates, fairness, and queue length.

use super::{Bottleneck, EcnMarking, LINE, mean};

/// The papers' slope (1 % at 200 KB) without the step at its end: above Kmax all flows are cut at
/// once, which the fluid model does not describe.
pub(super) const MARKING: EcnMarking =
    EcnMarking { kmin_bytes: 5_000, kmax_bytes: 1_955_000, pmax: 0.1 };

/// The model has no randomness and no queueing delay of marked packets. The real queue therefore
/// oscillates, and several marks share one CNP: the same effect takes a somewhat longer queue.
#[test]
fn the_steady_state_is_the_fluid_models() {
    for flows in [2, 4, 8] {
        let bottleneck = Bottleneck { flows, marking: MARKING };
        let model = bottleneck.fluid();
        let fixed = model.queue_bytes(model.fixed_point());
        let trajectory = model.run(0.1);
        let settled = trajectory.last().unwrap().queue_bytes;
        assert!((0.95..1.05).contains(&(settled / fixed)), "{flows}: {settled} {fixed}");

        // Skips the first 20 ms of 100.
        let moments = &bottleneck.simulate(100)[2000..];
        let queue = mean(moments.iter().map(|m| m.queue_bytes)) / fixed;
        assert!((0.9..1.4).contains(&queue), "{flows}: {queue}");
        let rates = (0..flows).map(|f| mean(moments.iter().map(|m| m.rates_bps[f])));
        let rates: Vec<_> = rates.collect();
        let total = rates.iter().sum::<f64>();
        assert!((0.99..1.01).contains(&(total / LINE as f64)), "{flows}: {total}");
        let squares = rates.iter().map(|rate| rate * rate).sum::<f64>();
        let jain = total * total / (flows as f64 * squares);
        assert!(jain > 0.99, "{flows}: {jain}");
    }
}
