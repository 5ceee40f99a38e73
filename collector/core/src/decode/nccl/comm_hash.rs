//! commHash: the number that identifies a communicator in NCCL's logs, profiler and Inspector,
//! derived from its unique id (NCCL `src/init.cc`).

use std::io::Write;

use super::hash::{CharSign, HashFunction, log_hash, two_lane};
use crate::model::nccl::UniqueId;

/// commHash of a communicator created from `id`; of several ids, the first counts.
#[must_use]
pub fn of_id(id: &UniqueId, function: HashFunction) -> u64 {
    function.hash(&id.0)
}

/// The `commId` that NCCL 2.16 to 2.25 log for `id`; later releases log commHash.
#[must_use]
pub fn logged_id(id: &UniqueId, char_sign: CharSign) -> u64 {
    log_hash(&id.0, char_sign)
}

/// commHash of a child split off a communicator with commHash `parent`: its `counter`-th child,
/// from 1, with the `color` of its ranks. Up to 2.25 the counter is not used.
#[must_use]
pub fn of_split(parent: u64, counter: i32, color: i32, function: HashFunction) -> u64 {
    match function {
        HashFunction::Djb2a(_) => {
            // The child's unique id is this text.
            let mut id = UniqueId([0; 128]);
            let mut text = id.0.as_mut_slice();
            // At most 28 characters always fit.
            let _ = write!(text, "{parent:016x}-{color}");
            of_id(&id, function)
        }
        HashFunction::TwoLane => {
            two_lane([&parent.to_le_bytes(), &counter.to_le_bytes(), &color.to_le_bytes()])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::nccl::unique_id;

    fn id() -> UniqueId {
        unique_id::from_magic(0x0123_4567_89ab_cdef, "10.0.0.1:50000".parse().unwrap())
    }

    #[test]
    fn vectors() {
        let signed = HashFunction::Djb2a(CharSign::Signed);
        let unsigned = HashFunction::Djb2a(CharSign::Unsigned);
        assert_eq!(of_id(&id(), signed), 0x220f_9544_80cd_703f);
        assert_eq!(of_id(&id(), unsigned), 0x8c5c_f885_4464_5f3f);
        assert_eq!(of_id(&id(), HashFunction::TwoLane), 0x15cb_735f_949f_1466);
        assert_eq!(logged_id(&id(), CharSign::Signed), 0x83ca_496e_b4d1_2cd2);
        let child = of_split(0x15cb_735f_949f_1466, 1, 0, HashFunction::TwoLane);
        assert_eq!(child, 0x7572_97a3_be10_5140);
    }
}
