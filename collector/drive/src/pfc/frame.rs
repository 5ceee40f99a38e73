//! A PFC frame, byte by byte.
//!
//! ```text
//! byte 0..5               6..11   12..13  14..15  16..17            18..33
//!      01-80-C2-00-00-01  source  0x8808  0x0101  0|enabled classes 8 times of 2 bytes, class 0 first
//! ```

/// Group address of MAC control: no bridge forwards it.
const GROUP: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x01];
/// `EtherType` of MAC control.
pub(super) const MAC_CONTROL: u16 = 0x8808;
/// Opcode of PFC.
const PFC: u16 = 0x0101;
/// The shortest frame, without FCS.
const BYTES: usize = 60;

/// Bit times of a quantum.
pub const QUANTUM_BITS: u64 = 512;

/// What a frame asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Bit of each class whose time counts.
    pub enabled: u8,
    /// Time of each class in quanta; 0 resumes.
    pub quanta: [u16; 8],
}

impl Pause {
    /// Holds back one class, from 0 to 7.
    #[must_use]
    pub fn of_class(class: u8, quanta: u16) -> Self {
        let class = class & 7;
        let mut all = [0; 8];
        all[usize::from(class)] = quanta;
        Self { enabled: 1 << class, quanta: all }
    }

    /// The classes that it is about, with their quanta.
    pub fn classes(&self) -> impl Iterator<Item = (u8, u16)> {
        let enabled = self.enabled;
        (0_u8..).zip(self.quanta).filter(move |(class, _)| enabled & (1 << class) != 0)
    }

    /// The frame that a port with this address sends.
    #[must_use]
    pub fn encode(&self, from: [u8; 6]) -> [u8; BYTES] {
        let mut frame = [0; BYTES];
        frame[..6].copy_from_slice(&GROUP);
        frame[6..12].copy_from_slice(&from);
        let fields = [MAC_CONTROL, PFC, u16::from(self.enabled)].into_iter().chain(self.quanta);
        for (to, field) in frame[12..].chunks_exact_mut(2).zip(fields) {
            to.copy_from_slice(&field.to_be_bytes());
        }
        frame
    }

    /// What a received frame asks for; `None` if it is no PFC frame.
    #[must_use]
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let field = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
        if (field(12)?, field(14)?) != (MAC_CONTROL, PFC) {
            return None;
        }
        let mut quanta = [0; 8];
        for (class, quanta) in quanta.iter_mut().enumerate() {
            *quanta = field(18 + 2 * class)?;
        }
        let [_, enabled] = field(16)?.to_be_bytes();
        Some(Self { enabled, quanta })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_as_in_the_standard() {
        let pause = Pause::of_class(3, 0x1234);
        let frame = pause.encode([2; 6]);
        assert_eq!(frame[..18], [1, 0x80, 0xc2, 0, 0, 1, 2, 2, 2, 2, 2, 2, 0x88, 8, 1, 1, 0, 8]);
        assert_eq!(frame[18..34], [0, 0, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(frame[34..], [0; 26]);
        assert_eq!(Pause::parse(&frame), Some(pause));
        assert_eq!(pause.classes().collect::<Vec<_>>(), [(3, 0x1234)]);
        assert_eq!(Pause::parse(&frame[..33]), None, "cut");
        let mut other = frame;
        other[15] = 2;
        assert_eq!(Pause::parse(&other), None, "another opcode");
    }
}
