//! Handles that NCCL keeps: numbers that name a slot, never addresses.
//!
//! What comes back is looked up and compared; nothing is dereferenced. So a handle of another
//! process (PXN), of a slot that is in use again, or of a library that was loaded before, is
//! recognised and counted.

/// What a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Communicator = 1,
    Collective = 2,
    Operation = 3,
    Transfer = 4,
    /// An event that a second plugin has a handle for, too.
    Pair = 5,
    Kernel = 6,
}

/// A slot at one time of its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) kind: Kind,
    /// Place of a transfer within its operation.
    pub(crate) place: u8,
    pub(crate) slot: u16,
    /// Counts the uses of a slot.
    pub(crate) generation: u32,
}

impl Handle {
    pub(crate) fn pack(self) -> u64 {
        (self.kind as u64) << 56
            | u64::from(self.place) << 48
            | u64::from(self.slot) << 32
            | u64::from(self.generation)
    }

    /// `None` if it cannot be a handle of this library.
    pub(crate) fn unpack(value: u64) -> Option<Self> {
        let [kind, place, high, low, generation @ ..] = value.to_be_bytes();
        let kind = match kind {
            1 => Kind::Communicator,
            2 => Kind::Collective,
            3 => Kind::Operation,
            4 => Kind::Transfer,
            5 => Kind::Pair,
            6 => Kind::Kernel,
            _ => return None,
        };
        let generation = u32::from_be_bytes(generation);
        Some(Self { kind, place, slot: u16::from_be_bytes([high, low]), generation })
    }

    /// The handle, if it is of this kind.
    pub(crate) fn of(value: u64, kind: Kind) -> Option<Self> {
        Self::unpack(value).filter(|handle| handle.kind == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_survive_their_way_through_nccl() {
        let handle =
            Handle { kind: Kind::Transfer, place: 7, slot: 0xfffe, generation: 0xdead_beef };
        assert_eq!(Handle::unpack(handle.pack()), Some(handle));
        assert_eq!(Handle::of(handle.pack(), Kind::Operation), None);
        assert_eq!(Handle::unpack(0), None);
        assert_eq!(Handle::unpack(0x7fff_0123_4567), None);
    }
}
