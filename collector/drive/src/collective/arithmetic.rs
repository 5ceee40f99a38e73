//! Reductions of real numbers.

use bytemuck::Pod;

use super::{DataType, Operator};

/// `accumulator = accumulator op values`, element by element. Both have the same size, a whole
/// number of elements, at any alignment.
pub fn reduce(data_type: DataType, operator: Operator, accumulator: &mut [u8], values: &[u8]) {
    match data_type {
        DataType::Int32 => match operator {
            Operator::Sum => combine(accumulator, values, i32::wrapping_add),
            Operator::Prod => combine(accumulator, values, i32::wrapping_mul),
            Operator::Min => combine(accumulator, values, |a: i32, b| a.min(b)),
            Operator::Max => combine(accumulator, values, |a: i32, b| a.max(b)),
        },
        DataType::Float32 => match operator {
            Operator::Sum => combine(accumulator, values, |a: f32, b| a + b),
            Operator::Prod => combine(accumulator, values, |a: f32, b| a * b),
            Operator::Min => combine(accumulator, values, f32::min),
            Operator::Max => combine(accumulator, values, f32::max),
        },
        DataType::Float64 => match operator {
            Operator::Sum => combine(accumulator, values, |a: f64, b| a + b),
            Operator::Prod => combine(accumulator, values, |a: f64, b| a * b),
            Operator::Min => combine(accumulator, values, f64::min),
            Operator::Max => combine(accumulator, values, f64::max),
        },
    }
}

fn combine<T: Pod>(accumulator: &mut [u8], values: &[u8], operator: impl Fn(T, T) -> T) {
    let size = size_of::<T>();
    let pairs = accumulator.chunks_exact_mut(size).zip(values.chunks_exact(size));
    for (held, value) in pairs {
        let result: T =
            operator(bytemuck::pod_read_unaligned(held), bytemuck::pod_read_unaligned(value));
        held.copy_from_slice(bytemuck::bytes_of(&result));
    }
}
