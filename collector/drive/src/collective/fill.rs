//! Inputs that every rank can compute, and the check of results.
//!
//! Inputs are small integers, so that floating-point sums are exact in any order: a result is right
//! or wrong, never nearly right.

use bytemuck::Pod;

use super::{DataType, Kind, Operation, Operator};

/// Elements generated at once.
const BLOCK: usize = 4096;

/// The inputs of one collective.
#[derive(Clone, Copy, Debug)]
pub struct Inputs {
    /// Which collective.
    pub operation: Operation,
    /// Number of ranks.
    pub ranks: u32,
    /// Distinguishes the inputs of one collective from the next one's.
    pub sequence: u64,
}

impl Inputs {
    /// Writes the input of `rank`, [`Operation::input_bytes`] long.
    pub fn fill(&self, rank: u32, input: &mut [u8]) {
        self.write(rank, 0, input);
    }

    /// Number of wrong or missing elements in the output of `rank`.
    #[must_use]
    pub fn wrong(&self, rank: u32, output: &[u8]) -> u64 {
        let part = self.operation.part_bytes();
        let expected = self.operation.output_bytes(self.ranks);
        let missing = expected.saturating_sub(output.len()) / self.operation.data_type.bytes();
        let wrong = match self.operation.kind {
            Kind::AllReduce => self.differences(output, |at, block| self.reduced(at, block)),
            Kind::ReduceScatter => {
                let first = self.operation.count * rank as usize;
                self.differences(output, |at, block| self.reduced(first + at, block))
            }
            Kind::Broadcast => self.differences(output, |at, block| {
                self.write(self.operation.root, at, block);
            }),
            Kind::AllGather if part == 0 => 0,
            Kind::AllGather => (0..self.ranks)
                .zip(output.chunks(part))
                .map(|(from, given)| {
                    self.differences(given, |at, block| self.write(from, at, block))
                })
                .sum(),
        };
        wrong + missing as u64
    }

    fn differences(&self, output: &[u8], expect: impl Fn(usize, &mut [u8])) -> u64 {
        let size = self.operation.data_type.bytes();
        let mut expected = vec![0; BLOCK * size];
        let mut wrong = 0;
        for (block, got) in output.chunks(BLOCK * size).enumerate() {
            let expected = &mut expected[..got.len()];
            expect(block * BLOCK, expected);
            if expected != got {
                let elements = expected.chunks(size).zip(got.chunks(size));
                wrong += elements.filter(|(expected, got)| expected != got).count() as u64;
            }
        }
        wrong
    }

    /// The reduction of all inputs from element `first` on, in integers rather than with the
    /// arithmetic under test.
    fn reduced(&self, first: usize, result: &mut [u8]) {
        let cast = |element: usize| {
            let values = (0..self.ranks).map(|rank| i64::from(self.value(rank, element)));
            let reduced = match self.operation.operator {
                Operator::Sum => values.sum(),
                Operator::Prod => values.product(),
                Operator::Min => values.min().unwrap_or(0),
                Operator::Max => values.max().unwrap_or(0),
            };
            i32::try_from(reduced).unwrap_or(i32::MAX)
        };
        match self.operation.data_type {
            DataType::Int32 => write(first, result, cast),
            DataType::Float32 => write(first, result, |element| cast(element) as f32),
            DataType::Float64 => write(first, result, |element| f64::from(cast(element))),
        }
    }

    /// The input of `rank` from element `first` on.
    fn write(&self, rank: u32, first: usize, input: &mut [u8]) {
        let value = |element| self.value(rank, element);
        match self.operation.data_type {
            DataType::Int32 => write(first, input, value),
            DataType::Float32 => write(first, input, |element| value(element) as f32),
            DataType::Float64 => write(first, input, |element| f64::from(value(element))),
        }
    }

    fn value(&self, rank: u32, element: usize) -> i32 {
        let bits = scatter(element as u64 ^ (u64::from(rank) << 40) ^ (self.sequence << 52));
        match self.operation.operator {
            // The sum over 2^17 ranks stays below 2^24, up to which a float is exact.
            Operator::Sum | Operator::Min | Operator::Max => (bits >> 57) as i32,
            Operator::Prod => {
                let sign = if bits >> 63 == 0 { 1 } else { -1 };
                // At most 20 factors of two: the product over any number of ranks fits into an
                // int32.
                let doubles = rank < 260 && rank % 13 == (element % 13) as u32;
                if doubles { 2 * sign } else { sign }
            }
        }
    }
}

/// Fills `bytes` with elements from `first` on.
fn write<T: Pod>(first: usize, bytes: &mut [u8], value: impl Fn(usize) -> T) {
    for (element, bytes) in (first..).zip(bytes.chunks_exact_mut(size_of::<T>())) {
        bytes.copy_from_slice(bytemuck::bytes_of(&value(element)));
    }
}

/// Spreads the seed over all bits (the finisher of `SplitMix64`).
const fn scatter(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_element_is_counted() {
        let operation = Operation {
            kind: Kind::AllGather,
            data_type: DataType::Float32,
            operator: Operator::Sum,
            root: 0,
            count: 5000,
        };
        let inputs = Inputs { operation, ranks: 2, sequence: 7 };
        let mut output = vec![0; 40_000];
        let (first, second) = output.split_at_mut(20_000);
        inputs.fill(0, first);
        inputs.fill(1, second);
        assert_eq!(inputs.wrong(0, &output), 0);
        output[3] ^= 1;
        output[39_999] ^= 1;
        output[39_998] ^= 1;
        assert_eq!(inputs.wrong(1, &output), 2);
        assert_eq!(inputs.wrong(1, &output[..39_992]), 3);
        assert!(Inputs { sequence: 8, ..inputs }.wrong(1, &output) > 9_000);
    }

    #[test]
    fn products_of_many_ranks_stay_exact() {
        for data_type in [DataType::Int32, DataType::Float32, DataType::Float64] {
            let operation = Operation {
                kind: Kind::AllReduce,
                data_type,
                operator: Operator::Prod,
                root: 0,
                count: 64,
            };
            let inputs = Inputs { operation, ranks: 1000, sequence: 0 };
            let mut result = vec![0; operation.part_bytes()];
            inputs.reduced(0, &mut result);
            let values = result.chunks(data_type.bytes()).map(|value| match data_type {
                DataType::Int32 => f64::from(bytemuck::pod_read_unaligned::<i32>(value)),
                DataType::Float32 => f64::from(bytemuck::pod_read_unaligned::<f32>(value)),
                DataType::Float64 => bytemuck::pod_read_unaligned(value),
            });
            let largest = values.map(f64::abs).fold(0.0, f64::max);
            assert_eq!(largest, f64::from(1 << 20));
        }
    }
}
