//! Datagrams written by hand, word by word, after the specification.

use proptest::prelude::*;

use super::*;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A datagram with a flow sample, an unknown one and a counter sample.
fn datagram() -> Vec<u8> {
    let mut bytes = words(&[5, 1, 0x0a00_00fe, 7, 41, 60_000, 3]);
    // 32 bytes of the sample, and a record of 8 + 16 + 8 bytes: a header of 6 bytes.
    bytes.extend(words(&[1, 32 + 32, 9, 3, 1000, 5_000_000, 2, 3, 4, 1]));
    bytes.extend(words(&[1, 24, 1, 1522, 4, 6, 0x0102_0304, 0x0506_0000]));
    bytes.extend(words(&[(4300 << 12) | 1002, 4, 0]));
    bytes.extend(words(&[2, 12 + 8 + 88, 5, 3, 1, 1, 88, 3, 6, 23, 0x4876_e800, 1, 3]));
    bytes.extend(words(&[0, 800, 1, 2, 3, 4, 5, 6, 1, 0, 7, 8, 9, u32::MAX, 11, 0]));
    bytes
}

#[test]
fn samples_are_read_and_unknown_ones_skipped() {
    let bytes = datagram();
    let read = Datagram::decode(&bytes).unwrap();
    assert_eq!(read.agent, Some([10, 0, 0, 254].into()));
    assert_eq!((read.sub_agent, read.sequence, read.uptime_ms), (7, 41, 60_000));
    let samples: Vec<Sample<'_>> = read.samples().map(Result::unwrap).collect();
    let [Sample::Flow(flow), Sample::Other { enterprise: 4300, format: 1002 }, counters] =
        &samples[..]
    else {
        panic!("{samples:?}")
    };
    assert_eq!((flow.rate, flow.pool, flow.drops), (1000, 5_000_000, 2));
    assert!(flow.source.is(flow.input) && !flow.source.is(flow.output));
    let record = flow.records.clone().next().unwrap().unwrap();
    let header = record.header().unwrap().unwrap();
    assert_eq!((header.bytes, header.wire_len()), (&[1, 2, 3, 4, 5, 6][..], 1518));
    let Sample::Counters(counters) = counters else { panic!("{counters:?}") };
    let record = counters.records.clone().next().unwrap().unwrap();
    let read = record.interface_counters().unwrap().unwrap();
    assert_eq!((read.index, read.speed_bps, read.is_up), (3, Some(100_000_000_000), true));
    assert_eq!((read.in_octets, read.out_octets), (Some(800), Some(1 << 32)));
    assert_eq!((read.in_discards, read.in_errors), (Some(4), Some(5)));
    assert_eq!((read.out_discards, read.out_errors), (None, Some(11)));
}

#[test]
fn a_truncated_datagram_gives_what_is_whole() {
    let bytes = datagram();
    for len in 0..bytes.len() {
        let Ok(read) = Datagram::decode(&bytes[..len]) else {
            assert!(len < 28, "{len}");
            continue;
        };
        let samples: Vec<_> = read.samples().collect();
        let whole = samples.iter().filter(|sample| sample.is_ok()).count();
        assert_eq!(samples.last().map(Result::is_err), Some(true), "{len}");
        let expected = [28 + 8 + 64, 28 + 8 + 64 + 12].iter().filter(|end| **end <= len).count();
        assert_eq!(whole, expected, "{len}");
    }
}

#[test]
fn other_versions_and_addresses_are_refused() {
    assert_eq!(Datagram::decode(&words(&[4, 1, 2, 3, 4, 5])).err(), Some(Refusal::Version));
    assert_eq!(Datagram::decode(&words(&[5, 9, 2, 3, 4, 5])).err(), Some(Refusal::Address));
}

proptest! {
    /// No panic, and no more samples and records than bytes can hold.
    #[test]
    fn any_bytes(mut bytes in proptest::collection::vec(any::<u8>(), 0..600), is_version_5: bool) {
        if is_version_5 {
            let start = words(&[5, 1]);
            let len = start.len().min(bytes.len());
            bytes[..len].copy_from_slice(&start[..len]);
        }
        let Ok(read) = Datagram::decode(&bytes) else { return Ok(()) };
        let mut items = 0;
        for sample in read.samples() {
            items += 1;
            let records = match sample {
                Ok(Sample::Flow(flow)) => flow.records,
                Ok(Sample::Counters(counters)) => counters.records,
                _ => continue,
            };
            for record in records.flatten() {
                items += 1;
                let _ = (record.header(), record.interface_counters(), record.ethernet_counters());
            }
        }
        prop_assert!(items <= 1 + bytes.len() / 8);
    }
}
