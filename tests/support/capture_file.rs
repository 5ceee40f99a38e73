//! Capture files written byte by byte, with constants of their own: an error of the reader would
//! have to be repeated here to go unnoticed.

/// Byte order of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

pub(crate) const BOTH_ORDERS: [Order; 2] = [Order::Little, Order::Big];

impl Order {
    pub(crate) fn u16(self, value: u16) -> [u8; 2] {
        if self == Self::Big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub(crate) fn u32(self, value: u32) -> [u8; 4] {
        if self == Self::Big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub(crate) fn u64(self, value: u64) -> [u8; 8] {
        if self == Self::Big { value.to_be_bytes() } else { value.to_le_bytes() }
    }
}

/// Where a record or block is in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) is_frame: bool,
}

pub(crate) struct PcapFile {
    order: Order,
    pub(crate) bytes: Vec<u8>,
    pub(crate) extents: Vec<Extent>,
}

impl PcapFile {
    /// Version 2.4, Ethernet, snap length 65,535.
    pub(crate) fn new(order: Order, is_nanoseconds: bool) -> Self {
        Self::with_header(order, is_nanoseconds, 2, 65_535, 1)
    }

    pub(crate) fn with_header(
        order: Order,
        is_nanoseconds: bool,
        major: u16,
        snap_len: u32,
        network: u32,
    ) -> Self {
        let magic = if is_nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        let mut bytes = order.u32(magic).to_vec();
        bytes.extend(order.u16(major));
        bytes.extend(order.u16(4));
        bytes.extend([0; 8]);
        bytes.extend(order.u32(snap_len));
        bytes.extend(order.u32(network));
        Self { order, bytes, extents: Vec::new() }
    }

    pub(crate) fn record(
        mut self,
        seconds: u32,
        fraction: u32,
        wire_len: u32,
        frame: &[u8],
    ) -> Self {
        let start = self.bytes.len();
        for number in [seconds, fraction, frame.len() as u32, wire_len] {
            self.bytes.extend(self.order.u32(number));
        }
        self.bytes.extend(frame);
        self.extents.push(Extent { start, end: self.bytes.len(), is_frame: true });
        self
    }
}

pub(crate) struct PcapNgFile {
    order: Order,
    pub(crate) bytes: Vec<u8>,
    pub(crate) extents: Vec<Extent>,
}

/// An option: code and value.
pub(crate) type Opt = (u16, Vec<u8>);

impl PcapNgFile {
    /// A file with one empty section.
    pub(crate) fn new(order: Order) -> Self {
        Self { order, bytes: Vec::new(), extents: Vec::new() }.section(order)
    }

    pub(crate) fn section(self, order: Order) -> Self {
        self.section_of_version(order, 1)
    }

    pub(crate) fn section_of_version(mut self, order: Order, major: u16) -> Self {
        self.order = order;
        let mut content = order.u32(0x1a2b_3c4d).to_vec();
        content.extend(order.u16(major));
        content.extend(order.u16(0));
        content.extend([0xff; 8]);
        let options = self.options(&[(3, b"Linux".to_vec()), (4, b"suite".to_vec())]);
        content.extend(options);
        self.block(0x0a0d_0d0a, &content)
    }

    pub(crate) fn interface(self, link_type: u16, snap_len: u32, options: &[Opt]) -> Self {
        let mut content = self.order.u16(link_type).to_vec();
        content.extend([0; 2]);
        content.extend(self.order.u32(snap_len));
        content.extend(self.options(options));
        self.block(1, &content)
    }

    pub(crate) fn enhanced(
        self,
        interface: u32,
        count: u64,
        wire_len: u32,
        frame: &[u8],
        options: &[Opt],
    ) -> Self {
        let origin = self.order.u32(interface);
        self.timed(6, origin, count, wire_len, frame, options)
    }

    pub(crate) fn obsolete(
        self,
        interface: u16,
        drops: u16,
        count: u64,
        wire_len: u32,
        frame: &[u8],
    ) -> Self {
        let [a, b] = self.order.u16(interface);
        let [c, d] = self.order.u16(drops);
        self.timed(2, [a, b, c, d], count, wire_len, frame, &[])
    }

    fn timed(
        self,
        block_type: u32,
        origin: [u8; 4],
        count: u64,
        wire_len: u32,
        frame: &[u8],
        options: &[Opt],
    ) -> Self {
        let mut content = origin.to_vec();
        content.extend(self.order.u32((count >> 32) as u32));
        content.extend(self.order.u32(count as u32));
        content.extend(self.order.u32(frame.len() as u32));
        content.extend(self.order.u32(wire_len));
        content.extend(padded(frame));
        content.extend(self.options(options));
        self.block(block_type, &content)
    }

    pub(crate) fn simple(self, wire_len: u32, frame: &[u8]) -> Self {
        let mut content = self.order.u32(wire_len).to_vec();
        content.extend(padded(frame));
        self.block(3, &content)
    }

    /// A name resolution block: address bytes (4 or 16) and their names.
    pub(crate) fn names(self, records: &[(&[u8], &[&str])]) -> Self {
        let mut content = Vec::new();
        for (address, names) in records {
            let mut value = address.to_vec();
            for name in *names {
                value.extend(name.as_bytes());
                value.push(0);
            }
            content.extend(self.order.u16(if address.len() == 4 { 1 } else { 2 }));
            content.extend(self.order.u16(value.len() as u16));
            content.extend(padded(&value));
        }
        content.extend([0; 4]);
        self.block(4, &content)
    }

    /// An interface statistics block with `isb_ifdrop` and `isb_osdrop`.
    pub(crate) fn statistics(
        self,
        interface: u32,
        interface_drops: u64,
        system_drops: u64,
    ) -> Self {
        let drops = [(5, self.number(interface_drops)), (7, self.number(system_drops))];
        self.statistics_of(interface, &drops)
    }

    /// An interface statistics block with `isb_starttime`, `isb_endtime`, and the frames that passed
    /// (`isb_ifrecv`).
    pub(crate) fn observed(self, interface: u32, start: u64, end: u64, frames: u64) -> Self {
        let (order, received) = (self.order, self.number(frames));
        let time = |time: u64| {
            [order.u32((time >> 32) as u32), order.u32(time as u32)].as_flattened().to_vec()
        };
        self.statistics_of(interface, &[(2, time(start)), (3, time(end)), (4, received)])
    }

    fn statistics_of(self, interface: u32, options: &[Opt]) -> Self {
        let mut content = self.order.u32(interface).to_vec();
        content.extend([0; 8]);
        content.extend(self.options(options));
        self.block(5, &content)
    }

    /// Any block, with correct lengths.
    pub(crate) fn block(self, block_type: u32, content: &[u8]) -> Self {
        let content = padded(content);
        let length = content.len() as u32 + 12;
        self.raw_block(block_type, length, &content, length)
    }

    /// Any block, with any lengths.
    pub(crate) fn raw_block(
        mut self,
        block_type: u32,
        start: u32,
        content: &[u8],
        end: u32,
    ) -> Self {
        let position = self.bytes.len();
        self.bytes.extend(self.order.u32(block_type));
        self.bytes.extend(self.order.u32(start));
        self.bytes.extend(content);
        self.bytes.extend(self.order.u32(end));
        let is_frame = matches!(block_type, 2 | 3 | 6);
        self.extents.push(Extent { start: position, end: self.bytes.len(), is_frame });
        self
    }

    /// A 64-bit option value in the section's byte order.
    pub(crate) fn number(&self, value: u64) -> Vec<u8> {
        self.order.u64(value).to_vec()
    }

    fn options(&self, options: &[Opt]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (code, value) in options {
            bytes.extend(self.order.u16(*code));
            bytes.extend(self.order.u16(value.len() as u16));
            bytes.extend(padded(value));
        }
        if !options.is_empty() {
            bytes.extend([0; 4]);
        }
        bytes
    }
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(4), 0);
    padded
}

/// One gzip member.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("a write to memory succeeds");
    encoder.finish().expect("a write to memory succeeds")
}

/// One zstd frame with a block per 40 bytes, so that a cut file still yields some data.
pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).expect("level 3 exists");
    for part in bytes.chunks(40) {
        encoder.write_all(part).expect("a write to memory succeeds");
        encoder.flush().expect("a write to memory succeeds");
    }
    encoder.finish().expect("a write to memory succeeds")
}
