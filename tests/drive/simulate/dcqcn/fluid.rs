//! The fluid model of DCQCN: Zhu, Ghobadi, Misra, Padhye, "ECN or Delay: Lessons Learnt from
//! Analysis of DCQCN and TIMELY", CoNEXT 2016, section 3.1 (equations 3 to 9), for identical flows.
//! Rates in packets per second, queues in packets, times in seconds.

use std::collections::VecDeque;

use railscope_drive::simulate::network::plan::{Dcqcn, EcnMarking};

/// Integration step, well below all timers.
const INTERVAL: f64 = 1e-6;

/// Parameters of the model.
#[derive(Clone, Copy, Debug)]
pub struct Fluid {
    pub flows: f64,
    /// Rate of the bottleneck link.
    pub line: f64,
    pub dcqcn: Dcqcn,
    pub marking: EcnMarking,
    /// Bytes of a packet in the queue.
    pub frame_bytes: f64,
    /// Bits of a packet on the wire.
    pub wire_bits: f64,
    /// From a mark to its effect.
    pub delay: f64,
}

/// The model's state at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub rate_bps: f64,
    pub queue_bytes: f64,
}

/// Event rates of a flow that sends `rate` while packets are marked with probability `p`: the
/// model's a, b, c, d, e, and the limit of alpha.
struct Frequencies {
    notified: f64,
    byte_rises: f64,
    byte_rises_after_fast_recovery: f64,
    timer_rises: f64,
    timer_rises_after_fast_recovery: f64,
    alpha: f64,
}

impl Fluid {
    fn frequencies(&self, p: f64, rate: f64) -> Frequencies {
        let dcqcn = &self.dcqcn;
        // The logarithm of the probability that a packet is not marked.
        let clear = (-p.clamp(1e-12, 1.0 - 1e-12)).ln_1p();
        let p = -clear.exp_m1();
        let bytes = dcqcn.byte_counter as f64 * 8.0 / self.wire_bits;
        let timer = dcqcn.increase_timer_ns as f64 / 1e9 * rate;
        let cnp = dcqcn.cnp_interval_ns as f64 / 1e9 * rate;
        let alpha = dcqcn.alpha_timer_ns as f64 / 1e9 * rate;
        let fast = f64::from(dcqcn.fast_recovery);
        let byte_rises = p / (-bytes * clear).exp_m1();
        let timer_rises = p / (-timer * clear).exp_m1();
        Frequencies {
            notified: -(cnp * clear).exp_m1(),
            byte_rises,
            byte_rises_after_fast_recovery: (fast * bytes * clear).exp() * byte_rises,
            timer_rises,
            timer_rises_after_fast_recovery: (fast * timer * clear).exp() * timer_rises,
            alpha: -(alpha * clear).exp_m1(),
        }
    }

    /// The share of marked packets at the only fixed point (equation 10).
    pub fn fixed_point(&self) -> f64 {
        let rate = self.line / self.flows;
        let additive = self.dcqcn.additive_bps / self.wire_bits;
        let tau = self.dcqcn.cnp_interval_ns as f64 / 1e9;
        let excess = |p: f64| {
            let f = self.frequencies(p, rate);
            let rises = f.byte_rises + f.timer_rises;
            let additive_rises =
                f.byte_rises_after_fast_recovery + f.timer_rises_after_fast_recovery;
            f.notified * f.notified * f.alpha - tau * tau * additive * rate * rises * additive_rises
        };
        let (mut low, mut high) = (1e-9, 0.99);
        for _ in 0..100 {
            let middle = f64::sqrt(low * high);
            *(if excess(middle) < 0.0 { &mut low } else { &mut high }) = middle;
        }
        low
    }

    /// The queue length at which the share `p` is marked.
    pub fn queue_bytes(&self, p: f64) -> f64 {
        let EcnMarking { kmin_bytes, kmax_bytes, pmax } = self.marking;
        kmin_bytes as f64 + p / pmax * (kmax_bytes - kmin_bytes) as f64
    }

    /// One moment per microsecond, starting when all flows begin at line rate.
    pub fn run(&self, seconds: f64) -> Vec<Moment> {
        let additive = self.dcqcn.additive_bps / self.wire_bits;
        let tau = self.dcqcn.cnp_interval_ns as f64 / 1e9;
        let alpha_timer = self.dcqcn.alpha_timer_ns as f64 / 1e9;
        let (mut rate, mut target, mut alpha, mut queue) = (self.line, self.line, 1.0, 0.0);
        // The state `delay` ago.
        let mut past = VecDeque::from(vec![(0.0, rate); (self.delay / INTERVAL) as usize]);
        let mut moments = Vec::new();
        for _ in 0..(seconds / INTERVAL) as usize {
            past.push_back((self.marking.probability((queue * self.frame_bytes) as u64), rate));
            let (p, earlier_rate) = past.pop_front().unwrap();
            let f = self.frequencies(p, earlier_rate);
            let additive_rises =
                f.byte_rises_after_fast_recovery + f.timer_rises_after_fast_recovery;
            let rises = f.byte_rises + f.timer_rises;
            let alpha_change = self.dcqcn.gain / alpha_timer * (f.alpha - alpha);
            let target_change =
                additive * earlier_rate * additive_rises - (target - rate) / tau * f.notified;
            let rate_change = (target - rate) / 2.0 * earlier_rate * rises
                - rate * alpha / (2.0 * tau) * f.notified;
            queue = (queue + INTERVAL * (self.flows * rate - self.line)).max(0.0);
            alpha += INTERVAL * alpha_change;
            target = (target + INTERVAL * target_change).min(self.line);
            rate = (rate + INTERVAL * rate_change).min(self.line);
            moments.push(Moment {
                rate_bps: rate * self.wire_bits,
                queue_bytes: queue * self.frame_bytes,
            });
        }
        moments
    }
}
