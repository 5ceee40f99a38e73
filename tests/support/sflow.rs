//! sFlow version 5 datagrams, encoded after `sflow_version_5.txt` by an encoder of our own. xtask uses it,
//! too, so it uses nothing else of the suite.

/// A packet that was drawn.
#[derive(Clone, Debug)]
pub struct Drawn<'a> {
    pub sequence: u32,
    /// ifIndex of the source.
    pub source: u32,
    pub rate: u32,
    pub pool: u32,
    pub drops: u32,
    pub input: u32,
    pub output: u32,
    /// Bytes on the wire, without FCS.
    pub wire_len: u32,
    /// The first bytes of the frame.
    pub header: &'a [u8],
}

/// Counters of an interface.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    pub sequence: u32,
    pub index: u32,
    pub speed_bps: u64,
    pub in_octets: u64,
    pub out_octets: u64,
    pub in_discards: u32,
    pub out_discards: u32,
    pub in_errors: u32,
    pub symbol_errors: u32,
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// `data` behind its format and length.
fn tagged(format: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = words(&[format, data.len() as u32]);
    bytes.extend(data);
    bytes
}

/// Record 1 of flow samples: the header of the packet. The FCS counts as stripped.
fn sampled_header(wire_len: u32, header: &[u8]) -> Vec<u8> {
    let mut data = words(&[1, wire_len + 4, 4, header.len() as u32]);
    data.extend(header);
    data.resize(data.len().next_multiple_of(4), 0);
    tagged(1, &data)
}

/// Record 1001 of flow samples: VLAN and priority on both sides.
fn extended_switch() -> Vec<u8> {
    tagged(1001, &words(&[100, 3, 100, 3]))
}

/// Records 1036, 1040 and 1039 of flow samples: egress queue, its depth in bytes, and transit delay in ns.
pub fn queue_records(queue: u32, depth_bytes: u32, delay_ns: u32) -> Vec<Vec<u8>> {
    let records = [(1036, queue), (1040, depth_bytes), (1039, delay_ns)];
    records.map(|(format, value)| tagged(format, &words(&[value]))).into()
}

/// A flow sample with these records behind the packet's header.
pub fn flow_sample_with(drawn: &Drawn<'_>, records: &[Vec<u8>]) -> Vec<u8> {
    let Drawn { sequence, source, rate, pool, drops, input, output, wire_len, header } = drawn;
    let count = records.len() as u32 + 1;
    let mut data = words(&[*sequence, *source, *rate, *pool, *drops, *input, *output, count]);
    data.extend(sampled_header(*wire_len, header));
    records.iter().for_each(|record| data.extend(record));
    tagged(1, &data)
}

/// A flow sample with the packet's header and VLANs: format 1, or 3 if it is expanded.
pub fn flow_sample(drawn: &Drawn<'_>, is_expanded: bool) -> Vec<u8> {
    let Drawn { sequence, source, rate, pool, drops, input, output, wire_len, header } = drawn;
    let mut data = match is_expanded {
        false => words(&[*sequence, *source, *rate, *pool, *drops, *input, *output, 2]),
        true => words(&[*sequence, 0, *source, *rate, *pool, *drops, 0, *input, 0, *output, 2]),
    };
    data.extend(extended_switch());
    data.extend(sampled_header(*wire_len, header));
    tagged(if is_expanded { 3 } else { 1 }, &data)
}

/// A counter sample with generic and Ethernet counters: format 2, or 4 if it is expanded.
pub fn counter_sample(counters: &Counters, is_expanded: bool) -> Vec<u8> {
    let long = |value: u64| [(value >> 32) as u32, value as u32];
    let mut generic = words(&[counters.index, 6]);
    generic.extend(words(&long(counters.speed_bps)));
    generic.extend(words(&[1, 3]));
    generic.extend(words(&long(counters.in_octets)));
    generic.extend(words(&[11, 12, 13, counters.in_discards, counters.in_errors, u32::MAX]));
    generic.extend(words(&long(counters.out_octets)));
    generic.extend(words(&[21, 22, 23, counters.out_discards, 0, 0]));
    let mut ethernet = vec![0; 48];
    ethernet.extend(words(&[counters.symbol_errors]));
    let mut data = match is_expanded {
        false => words(&[counters.sequence, counters.index, 2]),
        true => words(&[counters.sequence, 0, counters.index, 2]),
    };
    data.extend(tagged(1, &generic));
    data.extend(tagged(2, &ethernet));
    tagged(if is_expanded { 4 } else { 2 }, &data)
}

/// A datagram of the agent 10.255.0.1.
pub fn datagram(sequence: u32, uptime_ms: u32, samples: &[Vec<u8>]) -> Vec<u8> {
    datagram_of([10, 255, 0, 1], sequence, uptime_ms, samples)
}

/// A datagram of an agent with this address.
pub fn datagram_of(agent: [u8; 4], sequence: u32, uptime_ms: u32, samples: &[Vec<u8>]) -> Vec<u8> {
    let agent = u32::from_be_bytes(agent);
    let mut bytes = words(&[5, 1, agent, 0, sequence, uptime_ms, samples.len() as u32]);
    samples.iter().for_each(|sample| bytes.extend(sample));
    bytes
}

/// The frame that carries a datagram from 10.255.0.1 to a collector: Ethernet, IPv4, UDP.
pub fn frame(datagram: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x02, 0, 0, 0, 0, 0xfe, 0x02, 0, 0, 0, 0, 0xff, 0x08, 0x00];
    let udp_len = 8 + datagram.len() as u16;
    let mut header = vec![0x45, 0];
    header.extend((20 + udp_len).to_be_bytes());
    header.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 255, 0, 1, 10, 255, 0, 9]);
    let sum: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    frame.extend(header);
    frame.extend(50_000_u16.to_be_bytes());
    frame.extend(6343_u16.to_be_bytes());
    frame.extend(udp_len.to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(datagram);
    frame
}
