//! Injected loss, reordering and CE marks, where packets leave the adapter.

use std::net::IpAddr;

use fastrand::Rng;

use super::batch::{Batch, Outgoing};
use super::engine::CE;

/// Most packets of a queue pair that may overtake a held packet.
const MOST_PASSING: u8 = 3;
/// Longest time that a packet is held without being overtaken, in ns.
const LONGEST_HOLD: u64 = 500_000;

/// What happens to packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// They are lost.
    Loss,
    /// They are held back until the next few of the same queue pair have left.
    Reorder,
    /// They are marked with CE if they are ECN-capable: a switch would not mark others.
    MarkCe,
}

/// Which packets a fault hits, and how many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftFault {
    /// Destination address; `None`: all.
    pub to: Option<IpAddr>,
    /// What happens to them.
    pub kind: FaultKind,
    /// Share of packets, from 0 to 1.
    pub share: f64,
}

/// A packet hit by a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injection {
    /// What happened to it.
    pub kind: FaultKind,
    /// When it left or would have left.
    pub ns: u64,
    /// Destination address.
    pub to: IpAddr,
    /// Destination queue pair.
    pub qpn: u32,
    /// Its PSN, 24 bits.
    pub psn: u32,
}

impl SoftFault {
    fn meets(&self, to: IpAddr) -> bool {
        self.to.is_none_or(|only| only == to)
    }
}

/// An adapter's faults and held packets.
#[derive(Debug)]
pub struct Faults {
    faults: Vec<SoftFault>,
    rng: Rng,
    held: Vec<Held>,
    injected: Vec<Injection>,
}

#[derive(Debug)]
struct Held {
    packet: Outgoing,
    from: IpAddr,
    to: IpAddr,
    source_port: u16,
    /// Packets that may still pass.
    passing: u8,
    /// Whether one has passed.
    is_passed: bool,
    until: u64,
}

impl Faults {
    /// Without faults yet. The same seed makes the same choices for the same packets.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            faults: Vec::new(),
            rng: Rng::with_seed(seed),
            held: Vec::new(),
            injected: Vec::new(),
        }
    }

    /// Replaces the faults.
    pub fn set(&mut self, faults: Vec<SoftFault>) {
        self.faults = faults;
    }

    /// Whether no fault applies to packets to an address.
    #[must_use]
    pub fn spare(&self, to: IpAddr) -> bool {
        !self.faults.iter().any(|fault| fault.meets(to))
    }

    /// Whether packets to an address are to be marked.
    #[must_use]
    pub fn mark(&self, to: IpAddr) -> bool {
        self.faults.iter().any(|fault| fault.kind == FaultKind::MarkCe && fault.meets(to))
    }

    /// Moves the packets that leave now from `batch` to `out`.
    pub fn apply(&mut self, batch: &mut Batch, now: u64, out: &mut Batch) {
        let (from, to, source_port) = (batch.from(), batch.to(), batch.source_port());
        out.begin(from, to, source_port);
        for packet in batch.packets_mut() {
            let choose = |kind| {
                let met = self.faults.iter().filter(|fault| fault.kind == kind && fault.meets(to));
                met.fold(false, |is_met, fault| is_met | (self.rng.f64() < fault.share))
            };
            let [is_lost, is_late, is_marked] =
                [FaultKind::Loss, FaultKind::Reorder, FaultKind::MarkCe].map(choose);
            let (qpn, psn) = (packet.qpn, packet.psn);
            if is_lost {
                self.injected.push(Injection { kind: FaultKind::Loss, ns: now, to, qpn, psn });
                continue;
            }
            if is_marked && packet.traffic_class & CE != 0 {
                packet.traffic_class |= CE;
                self.injected.push(Injection { kind: FaultKind::MarkCe, ns: now, to, qpn, psn });
            }
            if is_late {
                let passing = self.rng.u8(1..=MOST_PASSING);
                let packet = std::mem::take(packet);
                let (until, is_passed) = (now + LONGEST_HOLD, false);
                self.held.push(Held { packet, from, to, source_port, passing, is_passed, until });
                continue;
            }
            out.move_in(packet);
            self.let_pass(to, qpn, now, out);
        }
    }

    /// When [`Self::release`] is due.
    #[must_use]
    pub fn wakes_at(&self) -> Option<u64> {
        self.held.iter().map(|held| held.until).min()
    }

    /// Releases a packet whose hold time is over, as a batch of its own.
    pub fn release(&mut self, now: u64, out: &mut Batch) -> bool {
        let Some(due) = self.held.iter().position(|held| held.until <= now) else { return false };
        let mut held = self.held.remove(due);
        self.note(&held, now);
        out.begin(held.from, held.to, held.source_port);
        out.move_in(&mut held.packet);
        true
    }

    /// Packets hit by faults since the last call.
    pub fn take_injected(&mut self) -> Vec<Injection> {
        std::mem::take(&mut self.injected)
    }

    /// Records that a packet of a queue pair has left; held packets behind it may be due.
    fn let_pass(&mut self, to: IpAddr, qpn: u32, now: u64, out: &mut Batch) {
        let mut at = 0;
        while let Some(held) = self.held.get_mut(at) {
            if (held.to, held.packet.qpn) == (to, qpn) {
                held.passing -= 1;
                held.is_passed = true;
                if held.passing == 0 {
                    let mut held = self.held.remove(at);
                    self.note(&held, now);
                    out.move_in(&mut held.packet);
                    continue;
                }
            }
            at += 1;
        }
    }

    /// Only a packet that was overtaken is out of order.
    fn note(&mut self, held: &Held, ns: u64) {
        if held.is_passed {
            let (to, qpn, psn) = (held.to, held.packet.qpn, held.packet.psn);
            self.injected.push(Injection { kind: FaultKind::Reorder, ns, to, qpn, psn });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rdma::soft::packet::{Body, Packet};

    /// The PSNs that leave out of 100 packets, in batches of ten, and what happened to the others.
    fn passed(kind: FaultKind, share: f64) -> (Vec<u32>, Vec<Injection>) {
        let [from, to] = [1, 2].map(|host| IpAddr::from([10, 0, 0, host]));
        let mut faults = Faults::new(1);
        faults.set(vec![SoftFault { to: Some(to), kind, share }]);
        assert!(faults.spare(from) && !faults.spare(to));
        let (mut batch, mut out, mut left) = (Batch::default(), Batch::default(), Vec::new());
        for now in 0..10 {
            batch.begin(from, to, 0xc000);
            for psn in 10 * now..10 * now + 10 {
                batch.push(&Packet { qpn: 9, psn, body: Body::Cnp }, 2);
            }
            faults.apply(&mut batch, u64::from(now), &mut out);
            left.extend(out.packets().iter().map(|packet| packet.psn));
        }
        while faults.release(LONGEST_HOLD + 10, &mut out) {
            left.extend(out.packets().iter().map(|packet| packet.psn));
        }
        (left, faults.take_injected())
    }

    #[test]
    fn what_is_lost_is_written_down() {
        let (left, injected) = passed(FaultKind::Loss, 0.2);
        let lost: Vec<_> = injected.iter().map(|one| one.psn).collect();
        assert!(lost.len() > 10 && left.len() + lost.len() == 100);
        assert!(lost.iter().all(|psn| !left.contains(psn)));
    }

    #[test]
    fn what_is_late_still_comes_once_and_soon() {
        let (left, injected) = passed(FaultKind::Reorder, 0.2);
        let mut all = left.clone();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
        // Packets held at the same time are overtaken by the same others.
        let overtaken =
            |psn: &u32| left.iter().take_while(|one| one != &psn).filter(|one| *one > psn).count();
        let late: Vec<_> = injected.iter().map(|one| one.psn).collect();
        assert!(late.len() > 10 && late.iter().all(|psn| (1..=6).contains(&overtaken(psn))));
        assert_eq!((0..100).filter(|psn| overtaken(psn) > 0 && !late.contains(psn)).count(), 0);
    }

    #[test]
    fn a_mark_changes_neither_order_nor_number() {
        let (left, injected) = passed(FaultKind::MarkCe, 0.2);
        assert_eq!(left, (0..100).collect::<Vec<_>>());
        assert!(injected.len() > 10);
    }
}
