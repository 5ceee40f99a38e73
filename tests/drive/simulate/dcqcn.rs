//! DCQCN's steady state against its fluid model: rates, fairness, the share of marked packets and
//! the queue of a bottleneck.

use railscope::drive::simulate::network::Network;
use railscope::drive::simulate::network::notice::{Notice, QueuePairId, QueuePairOptions};
use railscope::drive::simulate::network::plan::{Dcqcn, EcnMarking, LinkId, PortId};
use railscope::drive::simulate::network::tap::Blind;
use railscope::drive::simulate::time::VirtualTime;

use super::fluid::Fluid;
use super::testbed::{LOSSLESS, options, pair, star, write};

/// The link of the papers.
pub(super) const LINE: u64 = 40_000_000_000;

const MTU: u16 = 1024;
const FRAME_BYTES: f64 = 1024.0 + 58.0;
const WIRE_BITS: f64 = (FRAME_BYTES + 24.0) * 8.0;

/// The slope of the papers (1 % at 200 KB), without the cliff at its end: beyond Kmax all flows are
/// cut at once, which the fluid model does not describe.
pub(super) const MARKING: EcnMarking =
    EcnMarking { kmin_bytes: 5_000, kmax_bytes: 1_955_000, pmax: 0.1 };

pub(super) fn fluid(flows: usize) -> Fluid {
    Fluid {
        flows: flows as f64,
        line: LINE as f64 / WIRE_BITS,
        dcqcn: Dcqcn::published(),
        marking: MARKING,
        frame_bytes: FRAME_BYTES,
        wire_bits: WIRE_BITS,
        delay: 4e-6,
    }
}

/// One moment of the simulation.
pub(super) struct Moment {
    pub(super) queue_bytes: f64,
    pub(super) rates_bps: Vec<f64>,
}

/// `flows` NICs write to one; the bottleneck every 10 us, from the beginning.
pub(super) fn run(flows: usize, milliseconds: u64) -> Vec<Moment> {
    let mut plan = star(flows + 1, LINE);
    plan.switches[0].queues[usize::from(LOSSLESS)].marking = Some(MARKING);
    let mut network = Network::new(&plan, 1).unwrap();
    let options = QueuePairOptions { mtu: MTU, ..options() };
    let senders: Vec<QueuePairId> = (0..flows as u32)
        .map(|sender| pair(&mut network, sender, flows as u32, options).0)
        .collect();
    for &sender in &senders {
        network.post(sender, write(0, u32::MAX, None)).unwrap();
    }
    let bottleneck = PortId::second(LinkId(flows as u32));
    let mut moments = Vec::new();
    network.wake(VirtualTime::START, 0);
    while let Some(notice) = network.advance(&mut Blind) {
        let Notice::Woken { token } = notice else { continue };
        moments.push(Moment {
            queue_bytes: network.queue_bytes(bottleneck, LOSSLESS).unwrap() as f64,
            rates_bps: senders.iter().map(|&s| network.rate_bps(s).unwrap()).collect(),
        });
        if token == milliseconds * 100 {
            break;
        }
        network.wake(VirtualTime((token + 1) * 10_000), token + 1);
    }
    moments
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / values.count() as f64
}

/// The model has neither chance nor the time that a marked packet waits in the queue, so the real
/// queue swings, and marks that come together give one CNP: it takes a somewhat longer queue to say
/// as much. With 2, 4 and 8 flows it is longer by 14, 23 and 33 %.
#[test]
fn the_steady_state_is_the_fluid_models() {
    for flows in [2, 4, 8] {
        let model = fluid(flows);
        let fixed = model.queue_bytes(model.fixed_point());
        let trajectory = model.run(0.1);
        let settled = trajectory.last().unwrap().queue_bytes;
        assert!((0.95..1.05).contains(&(settled / fixed)), "{flows}: {settled} {fixed}");

        // After 20 ms of 100.
        let moments = &run(flows, 100)[2000..];
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
