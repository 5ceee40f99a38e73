//! MAC control frames that stop a sender: PFC (IEEE 802.1Qbb) and 802.3x pause.
//!
//! ```text
//! byte 0..1    2..3                   4..19
//!      opcode  0|enabled priorities   8 times of 2 bytes, priority 0 first   (0x0101, PFC)
//!      opcode  time                                                          (0x0001, pause)
//! ```

use super::cursor::Cursor;
use super::error::{DecodeError, Layer};

const LINK: u16 = 0x0001;
const PRIORITY: u16 = 0x0101;

/// A pause frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Priority flow control (`EtherType` 0x8808, opcode 0x0101).
    Pfc {
        /// Bit p set: `quanta[p]` is valid.
        enabled: u8,
        /// Pause time per priority, in units of 512 bit times; 0 resumes.
        quanta: [u16; 8],
    },
    /// 802.3x pause (opcode 0x0001) of the whole link.
    Link {
        /// Pause time in units of 512 bit times; 0 resumes.
        quanta: u16,
    },
}

impl Pause {
    /// Parses what follows `EtherType` 0x8808; `None` for other MAC control frames.
    pub(super) fn decode(cursor: &mut Cursor<'_>) -> Result<Option<Self>, DecodeError> {
        match u16::from_be_bytes(*cursor.peek(Layer::MacControl)?) {
            PRIORITY => {
                let &[_, _, _, enabled, ref times @ ..] = cursor.take::<20>(Layer::MacControl)?;
                let mut quanta = [0; 8];
                for (quanta, &time) in quanta.iter_mut().zip(times.as_chunks().0) {
                    *quanta = u16::from_be_bytes(time);
                }
                Ok(Some(Self::Pfc { enabled, quanta }))
            }
            LINK => {
                let &[_, _, q0, q1] = cursor.take::<4>(Layer::MacControl)?;
                Ok(Some(Self::Link { quanta: u16::from_be_bytes([q0, q1]) }))
            }
            _ => Ok(None),
        }
    }
}
