//! Faults injected at one rank.

use std::net::IpAddr;
use std::time::Duration;

use crate::fault::Iterations;
use crate::fault::{Fault, PacketFault, PauseFault, SocketFault};
use crate::rdma::soft::{FaultKind, SoftFault};

/// Extra compute time of `rank` in this training step; in a sweep, before each call.
pub(super) fn straggling(faults: &[Fault], rank: u32, iteration: Option<u32>) -> Duration {
    let delays = faults.iter().filter_map(|fault| match fault {
        Fault::Straggler { rank: who, delay, iterations } if *who == rank => {
            is_now(iterations.as_ref(), iteration).then_some(*delay)
        }
        _ => None,
    });
    delays.sum()
}

/// How much later the GPU of `rank` begins in this training step; in a sweep, with each call.
pub(super) fn gpu_delay(faults: &[Fault], rank: u32, iteration: Option<u32>) -> Duration {
    let delays = faults.iter().filter_map(|fault| match fault {
        Fault::LateGpu { rank: who, delay, iterations } if *who == rank => {
            is_now(iterations.as_ref(), iteration).then_some(*delay)
        }
        _ => None,
    });
    delays.sum()
}

/// Whether the job plays GPUs that begin later than their calls.
pub(super) fn has_gpu(faults: &[Fault]) -> bool {
    faults.iter().any(|fault| matches!(fault, Fault::LateGpu { .. }))
}

/// How long `rank` holds back each buffer offer.
pub(super) fn offer_delay(faults: &[Fault], rank: u32, iteration: Option<u32>) -> Duration {
    let delays = faults.iter().filter_map(|fault| match fault {
        Fault::LateReceiver { rank: who, delay, iterations } if *who == rank => {
            is_now(iterations.as_ref(), iteration).then_some(*delay)
        }
        _ => None,
    });
    delays.sum()
}

/// What `rank` may send to `receiver` over TCP in this training step, in bytes per second and connection;
/// `None`: without limit.
pub(super) fn socket_rate(
    faults: &[Fault],
    rank: u32,
    receiver: u32,
    iteration: Option<u32>,
) -> Option<u64> {
    let rates = faults.iter().filter_map(|fault| match fault {
        Fault::SlowSocket(SocketFault { edge, bits_per_second, iterations }) => {
            let is_met = *edge == (rank, receiver) && is_now(iterations.as_ref(), iteration);
            is_met.then_some(bits_per_second / 8)
        }
        _ => None,
    });
    rates.min()
}

/// The path MTU that `rank` uses whatever was agreed on.
pub(super) fn forced_mtu(faults: &[Fault], rank: u32) -> Option<u16> {
    faults.iter().find_map(|fault| match fault {
        Fault::PathMtu { rank: who, bytes } if *who == rank => Some(*bytes),
        _ => None,
    })
}

/// Packet faults at the port of `rank` in this training step, given the addresses of all ranks.
pub(super) fn packet_faults(
    faults: &[Fault],
    rank: u32,
    addresses: &[IpAddr],
    iteration: Option<u32>,
) -> Vec<SoftFault> {
    let met = faults.iter().filter_map(packets);
    let met = met.filter(|(_, which)| is_now(which.iterations.as_ref(), iteration));
    met.filter_map(|(kind, which)| packet_fault(kind, which, rank, addresses)).collect()
}

/// The share of the time for which the port of `rank` asks others to pause in this training step.
pub(super) fn pause_share(faults: &[Fault], rank: u32, iteration: Option<u32>) -> f64 {
    let shares = faults.iter().filter_map(|fault| match fault {
        Fault::Pause(PauseFault { edge: (_, to), share, iterations }) => {
            (*to == rank && is_now(iterations.as_ref(), iteration)).then_some(*share)
        }
        _ => None,
    });
    shares.fold(0.0, f64::max)
}

/// Whether the port of `rank` asks others to pause, or is asked to.
pub(super) fn pauses(faults: &[Fault], rank: u32) -> bool {
    faults.iter().any(|fault| {
        matches!(fault, Fault::Pause(PauseFault { edge: (from, to), .. }) if [*from, *to].contains(&rank))
    })
}

fn packets(fault: &Fault) -> Option<(FaultKind, &PacketFault)> {
    match fault {
        Fault::Loss(which) => Some((FaultKind::Loss, which)),
        Fault::Reorder(which) => Some((FaultKind::Reorder, which)),
        Fault::MarkCe(which) => Some((FaultKind::MarkCe, which)),
        _ => None,
    }
}

fn packet_fault(
    kind: FaultKind,
    which: &PacketFault,
    rank: u32,
    addresses: &[IpAddr],
) -> Option<SoftFault> {
    let destination = match which.edge {
        None => None,
        Some((from, to)) if from == rank => Some(*addresses.get(to as usize)?),
        Some(_) => return None,
    };
    Some(SoftFault { to: destination, kind, share: which.share })
}

/// Whether a fault with these training steps applies to this one; without steps it applies to
/// warm-up, too.
fn is_now(iterations: Option<&Iterations>, iteration: Option<u32>) -> bool {
    iterations.is_none_or(|range| iteration.is_some_and(|iteration| range.contains(&iteration)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{packet_faults, pause_share, pauses, socket_rate, straggling};
    use crate::fault::{Fault, PacketFault, PauseFault, SocketFault};

    #[test]
    fn a_straggler_is_late_in_its_iterations_only() {
        let delay = Duration::from_millis(30);
        let faults = [Fault::Straggler { rank: 2, delay, iterations: Some(5..10) }];
        let late = [Some(4), Some(5), Some(9), Some(10), None]
            .map(|iteration| !straggling(&faults, 2, iteration).is_zero());
        assert_eq!(late, [false, true, true, false, false]);
        assert!(straggling(&faults, 1, Some(5)).is_zero());
    }

    #[test]
    fn an_edge_begins_at_one_rank() {
        let edge = Some((1, 2));
        let faults = [Fault::Loss(PacketFault { edge, share: 0.01, iterations: None })];
        let addresses = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(|ip| ip.parse().unwrap());
        assert_eq!(packet_faults(&faults, 0, &addresses, None), []);
        let [fault] = &packet_faults(&faults, 1, &addresses, None)[..] else { panic!("no fault") };
        assert_eq!(fault.to, Some(addresses[2]));
    }

    #[test]
    fn the_receiver_s_port_asks() {
        let which = PauseFault { edge: (0, 1), share: 0.4, iterations: Some(5..6) };
        let faults = [Fault::Pause(which)];
        let share = |rank, iteration| pause_share(&faults, rank, Some(iteration));
        assert_eq!([share(1, 5), share(1, 6), share(0, 5)], [0.4, 0.0, 0.0]);
        assert_eq!([0, 1, 2].map(|rank| pauses(&faults, rank)), [true, true, false]);
    }

    #[test]
    fn a_slow_socket_is_one_edge() {
        let fault = SocketFault { edge: (1, 2), bits_per_second: 800, iterations: Some(5..6) };
        let faults = [Fault::SlowSocket(fault)];
        assert_eq!(socket_rate(&faults, 1, 2, Some(5)), Some(100));
        assert_eq!(socket_rate(&faults, 1, 2, Some(6)), None);
        assert_eq!(socket_rate(&faults, 2, 1, Some(5)), None);
    }

    #[test]
    fn packets_are_met_in_their_iterations_only() {
        let which = PacketFault { edge: None, share: 0.1, iterations: Some(5..7) };
        let faults = [Fault::MarkCe(which)];
        let met = [None, Some(4), Some(5), Some(6), Some(7)]
            .map(|iteration| packet_faults(&faults, 0, &[], iteration).len());
        assert_eq!(met, [0, 0, 1, 1, 0]);
    }
}
