//! Clear-to-send: what a receiver writes into the sender's FIFO to ask for the next message (NCCL
//! `src/transport/net_ib.cc`, `src/transport/net_ib/p2p.cc`: `struct ncclIbSendFifo`).

/// One element of a CTS message. A group of receives (send/recv) has several elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CtsElement {
    /// Where the data shall go.
    pub address: u64,
    /// Bytes that fit there.
    pub capacity: u64,
    /// R_Keys of that memory, by the receiver's device; 0 where there is none.
    pub remote_keys: [u32; 8],
    /// Receives in the group: elements of the message.
    pub requests: u32,
    /// The sender's rank in the topmost communicator.
    pub tag: u32,
    /// Number of the message on its connection, from 1; `None` where the snap length cut it off.
    pub index: Option<u64>,
}

/// Where the fields of an element lie.
struct Layout {
    /// Bytes of an element.
    size: usize,
    /// Bytes of `capacity`, which starts at 8: 4 or 8.
    capacity_size: usize,
    /// Start of the R_Keys.
    keys: usize,
    /// How many.
    key_count: usize,
    /// Start of `requests`; `tag` follows.
    requests: usize,
    /// Start of `index`.
    index: usize,
}

/// NCCL 2.12 to 2.19; 2.20 to 2.23; 2.24 to 2.29; 2.30 and later. Content tells layouts of one size
/// apart: R_Keys are never 0, unused ones always are.
const LAYOUTS: [Layout; 4] = [
    Layout { size: 32, capacity_size: 4, keys: 12, key_count: 1, requests: 16, index: 24 },
    Layout { size: 64, capacity_size: 4, keys: 12, key_count: 2, requests: 20, index: 32 },
    Layout { size: 64, capacity_size: 8, keys: 16, key_count: 4, requests: 32, index: 40 },
    Layout { size: 64, capacity_size: 8, keys: 16, key_count: 8, requests: 48, index: 56 },
];

/// Receives that one CTS can stand for (`NCCL_NET_IB_MAX_RECVS`).
const REQUEST_LIMIT: u32 = 8;

/// The largest message that NCCL announces: registered buffers go in pieces of at most 1 GiB.
const CAPACITY_LIMIT: u64 = 1 << 30;

impl CtsElement {
    /// Reads the first element of a CTS message: the payload of an RDMA WRITE of `message_len`
    /// bytes, of which `payload` was kept. `None` if it is no CTS.
    #[must_use]
    pub fn read(payload: &[u8], message_len: u32) -> Option<Self> {
        LAYOUTS.iter().find_map(|layout| layout.read(payload, message_len))
    }
}

impl Layout {
    fn read(&self, payload: &[u8], message_len: u32) -> Option<CtsElement> {
        let requests = u32_at(payload, self.requests)?;
        let len = u32::try_from(self.size).ok()?.checked_mul(requests)?;
        if !(1..=REQUEST_LIMIT).contains(&requests) || len != message_len {
            return None;
        }
        let capacity = match self.capacity_size {
            4 => u64::from(u32_at(payload, 8)?),
            _ => u64_at(payload, 8)?,
        };
        let address = u64_at(payload, 0)?;
        let tag = u32_at(payload, self.requests.checked_add(4)?)?;
        let index = u64_at(payload, self.index);
        let mut remote_keys = [0; 8];
        for (at, key) in remote_keys.iter_mut().take(self.key_count).enumerate() {
            *key = u32_at(payload, self.keys.checked_add(at.checked_mul(4)?)?)?;
        }
        let is_plausible = capacity <= CAPACITY_LIMIT
            && address != 0
            && remote_keys.first() != Some(&0)
            && tag <= i32::MAX as u32
            && index.is_none_or(|index| (1..1 << 48).contains(&index));
        is_plausible.then_some(CtsElement { address, capacity, remote_keys, requests, tag, index })
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An element with its fields at `keys`, `requests` and `index`.
    fn element(size: usize, keys: usize, requests: usize, index: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        bytes[..8].copy_from_slice(&0x7f00_1000_u64.to_le_bytes());
        bytes[8..12].copy_from_slice(&1_048_576_u32.to_le_bytes());
        bytes[keys..keys + 4].copy_from_slice(&0xabcd_u32.to_le_bytes());
        bytes[requests..requests + 4].copy_from_slice(&1_u32.to_le_bytes());
        bytes[requests + 4..requests + 8].copy_from_slice(&3_u32.to_le_bytes());
        bytes[index..index + 8].copy_from_slice(&77_u64.to_le_bytes());
        bytes
    }

    #[test]
    fn every_layout_is_told_by_its_content() {
        for (size, keys, requests, index) in
            [(32, 12, 16, 24), (64, 12, 20, 32), (64, 16, 32, 40), (64, 16, 48, 56)]
        {
            let bytes = element(size, keys, requests, index);
            let cts = CtsElement::read(&bytes, size as u32).unwrap();
            assert_eq!((cts.address, cts.capacity, cts.tag), (0x7f00_1000, 1_048_576, 3));
            assert_eq!((cts.remote_keys[0], cts.requests, cts.index), (0xabcd, 1, Some(77)));
            let cut = CtsElement::read(&bytes[..index], size as u32).unwrap();
            assert_eq!((cut.tag, cut.index), (3, None));
            assert_eq!(CtsElement::read(&bytes[..requests], size as u32), None);
        }
    }

    #[test]
    fn other_writes_are_none() {
        assert_eq!(CtsElement::read(&[0; 64], 64), None);
        assert_eq!(CtsElement::read(&[0xff; 64], 64), None);
        assert_eq!(CtsElement::read(&[1; 32], 32), None);
    }
}
