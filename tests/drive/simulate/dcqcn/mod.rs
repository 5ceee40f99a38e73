//! DCQCN at a port that several senders share, against its published fluid model. `steady.rs`:
//! rates and queue after convergence; `incast.rs`: the queue from the start; `picture.rs`: both as
//! diagrams.

mod diagram;
mod fluid;
mod incast;
mod picture;
mod steady;

use railscope_drive::simulate::network::Network;
use railscope_drive::simulate::network::id::{LinkId, PortId, TapId};
use railscope_drive::simulate::network::notice::{Notice, QueuePairId, QueuePairOptions};
use railscope_drive::simulate::network::packet::Packet;
use railscope_drive::simulate::network::plan::{Dcqcn, EcnMarking};
use railscope_drive::simulate::network::tap::{Direction, Occurrence, TapSink};
use railscope_drive::simulate::time::VirtualTime;

use super::testbed::{LOSSLESS, options, pair, star, write};
use fluid::Fluid;

/// The link of the papers.
const LINE: u64 = 40_000_000_000;

const MTU: u16 = 1024;
const FRAME_BYTES: f64 = 1024.0 + 58.0;
const WIRE_BITS: f64 = (FRAME_BYTES + 24.0) * 8.0;

/// Sampling interval of the simulation, ns.
const DISTANCE_NS: u64 = 10_000;

/// Flows that start together at line rate, and the port that they share.
#[derive(Clone, Copy, Debug)]
struct Bottleneck {
    flows: usize,
    marking: EcnMarking,
}

/// One sample of a simulation.
struct Moment {
    queue_bytes: f64,
    rates_bps: Vec<f64>,
}

/// A job in which only DCQCN slows senders down.
struct Undisturbed;

impl TapSink for Undisturbed {
    fn packet(&mut self, _: TapId, _: VirtualTime, _: Direction, _: &Packet) {}

    fn occurred(&mut self, _: VirtualTime, occurrence: Occurrence) {
        let disturbs = matches!(occurrence, Occurrence::Dropped { .. } | Occurrence::Xoff { .. });
        assert!(!disturbs, "{occurrence:?}");
    }
}

impl Bottleneck {
    fn fluid(self) -> Fluid {
        Fluid {
            flows: self.flows as f64,
            line: LINE as f64 / WIRE_BITS,
            dcqcn: Dcqcn::published(),
            marking: self.marking,
            frame_bytes: FRAME_BYTES,
            wire_bits: WIRE_BITS,
            delay: 4e-6,
        }
    }

    /// One flow from each of several NICs to one NIC; a sample every 10 us from the start.
    fn simulate(self, milliseconds: u64) -> Vec<Moment> {
        let last = self.flows as u32;
        let mut plan = star(self.flows + 1, LINE);
        let queue = &mut plan.switches[0].queues[usize::from(LOSSLESS)];
        queue.marking = Some(self.marking);
        queue.pfc = None;
        let mut network = Network::new(&plan, 1).unwrap();
        let options = QueuePairOptions { mtu: MTU, ..options() };
        let senders: Vec<QueuePairId> =
            (0..last).map(|sender| pair(&mut network, sender, last, options).0).collect();
        for &sender in &senders {
            network.post(sender, write(0, u32::MAX, None)).unwrap();
        }
        let bottleneck = PortId::second(LinkId(last));
        let mut moments = Vec::new();
        network.wake(VirtualTime::START, 0);
        while let Some(notice) = network.advance(&mut Undisturbed) {
            let Notice::Woken { token } = notice else { continue };
            moments.push(Moment {
                queue_bytes: network.queue_bytes(bottleneck, LOSSLESS).unwrap() as f64,
                rates_bps: senders.iter().map(|&s| network.rate_bps(s).unwrap()).collect(),
            });
            let next = VirtualTime((token + 1) * DISTANCE_NS);
            if next > VirtualTime(milliseconds * 1_000_000) {
                break;
            }
            network.wake(next, token + 1);
        }
        moments
    }
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / values.count() as f64
}
