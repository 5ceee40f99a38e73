//! The queue of an incast from its start, with the paper's thresholds.

use super::{Bottleneck, DISTANCE_NS, EcnMarking, mean};

/// Zhu et al., SIGCOMM 2015, section 5.2: no marks up to 5 KB, 1 % at 200 KB, all above.
pub(super) const PUBLISHED: EcnMarking =
    EcnMarking { kmin_bytes: 5_000, kmax_bytes: 200_000, pmax: 0.01 };

/// Rates have converged by then, ms.
const SETTLED: u64 = 40;

/// The longest queue, and the microseconds until it is below Kmin again.
fn flood(queue: &[f64], distance_us: f64) -> [f64; 2] {
    let peak = queue.iter().copied().fold(0.0, f64::max);
    let at = queue.iter().position(|&bytes| bytes == peak).unwrap();
    let drained = queue[at..].iter().position(|&bytes| bytes < PUBLISHED.kmin_bytes as f64);
    [peak, (at + drained.unwrap()) as f64 * distance_us]
}

/// At first marking is certain: each flow's rate is cut once per 50 us until the queue is empty.
/// The model cuts a little all the time, so its queue is shorter at first: by 19 % with two flows,
/// by 1 % with sixteen, where the peak is many cuts away.
#[test]
fn the_flood_of_an_incast_is_the_fluid_models() {
    for flows in [2, 4, 8, 16] {
        let bottleneck = Bottleneck { flows, marking: PUBLISHED };
        let simulated: Vec<_> = bottleneck.simulate(5).iter().map(|m| m.queue_bytes).collect();
        let modelled: Vec<_> = bottleneck.fluid().run(5e-3).iter().map(|m| m.queue_bytes).collect();
        let [peak, drained] = flood(&simulated, DISTANCE_NS as f64 / 1e3);
        let [model_peak, model_drained] = flood(&modelled, 1.0);
        assert!((0.95..1.3).contains(&(peak / model_peak)), "{flows}: {peak} {model_peak}");
        let times = drained / model_drained;
        assert!((0.85..1.1).contains(&times), "{flows}: {drained} {model_drained}");
    }
}

/// With few flows the queue oscillates around the model's fixed point, for the reasons in
/// `steady.rs`. With many it oscillates up to Kmax, where all flows are cut at once: it is shorter
/// than in the model, whose fixed point with sixteen flows is above Kmax.
#[test]
fn a_settled_incast_keeps_its_queue_between_kmin_and_kmax() {
    for flows in [2, 4, 8, 16] {
        let bottleneck = Bottleneck { flows, marking: PUBLISHED };
        let moments = bottleneck.simulate(100);
        let first = (SETTLED * 1_000_000 / DISTANCE_NS) as usize;
        let settled = moments[first..].iter().map(|moment| moment.queue_bytes);
        let [kmin, kmax] = [PUBLISHED.kmin_bytes, PUBLISHED.kmax_bytes].map(|bytes| bytes as f64);
        let queue = mean(settled.clone());
        assert!((kmin..kmax).contains(&queue), "{flows}: {queue}");
        let above = mean(settled.map(|bytes| if bytes > kmax { 1.0 } else { 0.0 }));
        let model = bottleneck.fluid();
        let fixed = model.queue_bytes(model.fixed_point());
        if flows <= 4 {
            assert!((0.9..1.5).contains(&(queue / fixed)), "{flows}: {queue} {fixed}");
            assert!(above == 0.0, "{flows}: {above}");
        } else {
            assert!(queue < fixed && above < 0.2, "{flows}: {queue} {fixed} {above}");
        }
    }
}
