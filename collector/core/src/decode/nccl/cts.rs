//! Clear-to-send: the element that the receiver of a NET/IB connection writes into the sender's
//! FIFO, once per message (`struct ncclIbSendFifo`, NCCL `src/transport/net_ib*`). It is the
//! payload of an RDMA WRITE, so the snap length may truncate it.

use super::structure::Structure;

/// `R_Key`s read: merged NICs have at most four devices before 2.30.
pub const KEY_LIMIT: usize = 4;

/// Most receives of one CTS (`NCCL_NET_IB_MAX_RECVS`).
const REQUEST_LIMIT: u32 = 8;

/// Offsets of the fields, in bytes. The address of the memory is at 0, its size at 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CtsLayout {
    /// Size of an element.
    pub len: usize,
    /// The size has 8 bytes, else 4.
    pub has_wide_size: bool,
    /// First `R_Key`.
    pub remote_key: usize,
    /// `nreqs`, followed by `tag`; `None` in 2.10 and 2.11.
    pub requests: Option<usize>,
    /// `idx`.
    pub number: usize,
}

/// 2.10 and 2.11, whose number has 4 bytes.
pub const CTS_32_UNTAGGED: CtsLayout =
    CtsLayout { len: 32, has_wide_size: false, remote_key: 16, requests: None, number: 12 };
/// 2.12 to 2.19.
pub const CTS_32: CtsLayout =
    CtsLayout { len: 32, has_wide_size: false, remote_key: 12, requests: Some(16), number: 24 };
/// 2.20 to 2.23: keys of 2 devices.
pub const CTS_64_TWO_KEYS: CtsLayout =
    CtsLayout { len: 64, has_wide_size: false, remote_key: 12, requests: Some(20), number: 32 };
/// 2.24 to 2.29: keys of 4 devices.
pub const CTS_64_FOUR_KEYS: CtsLayout =
    CtsLayout { len: 64, has_wide_size: true, remote_key: 16, requests: Some(32), number: 40 };
/// 2.30 and later: keys of 8 devices.
pub const CTS_64_EIGHT_KEYS: CtsLayout =
    CtsLayout { len: 64, has_wide_size: true, remote_key: 16, requests: Some(48), number: 56 };

/// An element; truncated fields are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cts {
    /// Destination of the data.
    pub address: u64,
    /// Size of the destination in bytes.
    pub capacity: u64,
    /// `R_Key`s of the destination by device; 0 if there is none.
    pub remote_keys: [u32; KEY_LIMIT],
    /// Number of receives: 1 for collectives.
    pub requests: Option<u32>,
    /// The sender's rank in the topmost communicator (2.12 and later).
    pub tag: Option<u32>,
    /// Number of the message on the connection, from 1.
    pub number: Option<u64>,
}

impl Cts {
    /// Parses the first element of a WRITE of `write_len` bytes, of which `payload` was captured.
    /// `None` if it cannot be a CTS, or too little was captured to decide.
    #[must_use]
    pub fn recognise(payload: &[u8], write_len: u32) -> Option<(Self, &'static CtsLayout)> {
        let layout = layout_of(payload, write_len)?;
        let cts = Self::decode(payload, layout)?;
        let is_plausible = cts.address != 0 && cts.number.is_none_or(|number| number != 0);
        is_plausible.then_some((cts, layout))
    }

    /// Parses an element with a known layout; `None` if the `R_Key` was not captured.
    #[must_use]
    pub fn decode(payload: &[u8], layout: &CtsLayout) -> Option<Self> {
        let structure = Structure(payload);
        let capacity = if layout.has_wide_size {
            structure.u64(8)?
        } else {
            structure.count(8).map(u64::from)?
        };
        let is_tagged = layout.requests.is_some();
        let mut remote_keys = [structure.u32(layout.remote_key)?, 0, 0, 0];
        let mut at = layout.remote_key;
        for key in remote_keys.iter_mut().skip(1) {
            at = at.checked_add(4)?;
            // The keys end at the number of receives.
            if layout.requests.is_none_or(|requests| at >= requests) {
                break;
            }
            *key = structure.u32(at)?;
        }
        Some(Self {
            address: structure.u64(0)?,
            capacity,
            remote_keys,
            requests: layout.requests.and_then(|at| structure.u32(at)),
            tag: layout.requests.and_then(|at| structure.u32(at.checked_add(4)?)),
            number: if is_tagged {
                structure.u64(layout.number)
            } else {
                structure.u32(layout.number).map(u64::from)
            },
        })
    }
}

/// The layout of a CTS, from the size of the WRITE and the position of the number of receives;
/// `None` for other WRITEs and for those truncated before it.
fn layout_of(payload: &[u8], write_len: u32) -> Option<&'static CtsLayout> {
    let structure = Structure(payload);
    let is_count = |at| structure.u32(at).is_some_and(|n| (1..=REQUEST_LIMIT).contains(&n));
    let is_zero = |at| structure.u32(at) == Some(0);
    // Eight requests of 32 bytes have the size of four of 64: the count distinguishes them.
    let fits = |layout: &CtsLayout| {
        let requests = layout.requests.and_then(|at| structure.u32(at)).unwrap_or(1);
        (requests as usize).checked_mul(layout.len) == Some(write_len as usize)
    };
    let candidates = [
        // The size's upper half, which is an `R_Key` in the older layout, is zero.
        (&CTS_64_FOUR_KEYS, is_zero(12) && is_count(32)),
        (&CTS_64_EIGHT_KEYS, is_zero(12) && is_count(48)),
        // Truncated before the count, with a fifth device's key at the count's position in other
        // layouts.
        (&CTS_64_EIGHT_KEYS, is_zero(12) && is_zero(32) && payload.len() < 52),
        (&CTS_64_TWO_KEYS, !is_zero(12) && is_count(20)),
        (&CTS_32, !is_zero(12) && is_count(16)),
        // A flag that marks it ready.
        (&CTS_32_UNTAGGED, structure.u32(20) == Some(1) && !is_zero(12)),
    ];
    let mut fitting = candidates.into_iter().filter(|(layout, is_alike)| *is_alike && fits(layout));
    fitting.next().map(|(layout, _)| layout)
}
