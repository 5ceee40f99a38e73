//! NCCL's formats with any bytes and any cut: no panic, and either a whole structure or none.

use proptest::collection::vec;
use proptest::prelude::{any, proptest};

use crate::hostile::checks;

proptest! {
    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..5000)) {
        checks::nccl::check_decoders(&bytes);
    }

    #[test]
    fn zeros_with_a_few_bytes(len in 0_usize..5000, bytes in vec((any::<usize>(), any::<u8>()), 0..40)) {
        let mut zeros = vec![0; len];
        for (at, byte) in bytes {
            if let Some(place) = zeros.get_mut(at % len.max(1)) {
                *place = byte;
            }
        }
        checks::nccl::check_decoders(&zeros);
    }
}
