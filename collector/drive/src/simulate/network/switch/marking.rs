//! Whether an arriving packet is marked with CE.

use crate::simulate::network::plan::EcnMarking;

impl EcnMarking {
    /// Probability that a packet finding `queue_bytes` in its egress queue is marked.
    pub fn probability(&self, queue_bytes: u64) -> f64 {
        if queue_bytes <= self.kmin_bytes {
            0.0
        } else if queue_bytes > self.kmax_bytes {
            1.0
        } else {
            let above = (queue_bytes - self.kmin_bytes) as f64;
            self.pmax * above / (self.kmax_bytes - self.kmin_bytes) as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::EcnMarking;

    proptest! {
        #[test]
        fn never_below_kmin_always_above_kmax_and_never_less_in_a_longer_queue(
            kmin_bytes in 0_u64..1_000_000,
            width in 0_u64..1_000_000,
            pmax in 0.0..=1.0,
            queues in [0_u64..3_000_000, 0..3_000_000],
        ) {
            let marking = EcnMarking { kmin_bytes, kmax_bytes: kmin_bytes + width, pmax };
            let [short, long] = { let mut q = queues; q.sort_unstable(); q };
            prop_assert!(marking.probability(short) <= marking.probability(long));
            prop_assert_eq!(marking.probability(kmin_bytes), 0.0);
            prop_assert_eq!(marking.probability(kmin_bytes + width + 1), 1.0);
        }
    }

    #[test]
    fn half_way_is_half_of_pmax() {
        let marking = EcnMarking { kmin_bytes: 100, kmax_bytes: 300, pmax: 0.5 };
        assert_eq!(marking.probability(200), 0.25);
        assert_eq!(marking.probability(300), 0.5);
    }
}
