//! Clear-to-send elements as real NCCL wrote them: one of each layout, from captures of jobs with
//! known ranks and queue pairs.

use railscope_core::decode::nccl::cts::{
    CTS_32, CTS_32_UNTAGGED, CTS_64_EIGHT_KEYS, CTS_64_FOUR_KEYS, CTS_64_TWO_KEYS, Cts, CtsLayout,
};
use railscope_core::decode::nccl::layout;
use railscope_core::model::nccl::Release;

/// Release, and the third clear-to-send of a connection on which rank 3 sends data.
const CAPTURED: [(Release, &str); 5] = [
    (Release::new(2, 18, 6), "00a08c7ee17f000000001000820a0000010000000300000003"),
    (
        Release::new(2, 21, 5),
        "00102e95b77f0000000010009020000000000000010000000300000000000000\
                             03",
    ),
    (
        Release::new(2, 28, 9),
        "00b04291957f0000000010000000000047500000000000000000000000000000\
                             010000000300000003",
    ),
    (
        Release::new(2, 30, 7),
        "00b042dda87f00000000100000000000460c0000000000000000000000000000\
                             0000000000000000000000000000000001000000030000000300000000000000",
    ),
    // From the source code: no library of this release has debug information.
    (Release::new(2, 11, 4), "00a08c7ee17f00000000100003000000820a000001"),
];

const MIB: u64 = 1 << 20;

fn layout_of(release: Release) -> &'static CtsLayout {
    layout::for_release(release).map_or(&CTS_32_UNTAGGED, |layout| layout.cts)
}

/// The element, padded with zeros to its full size.
fn element(release: Release, hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap());
    let mut bytes: Vec<u8> = digits.map(|digits| u8::from_str_radix(digits, 16).unwrap()).collect();
    bytes.resize(layout_of(release).len, 0);
    bytes
}

#[test]
fn every_layout_is_distinguished_from_the_others() {
    for (release, hex) in CAPTURED {
        let bytes = element(release, hex);
        let (cts, layout) = Cts::recognise(&bytes, bytes.len() as u32).unwrap();
        assert_eq!(layout, layout_of(release), "{release}");
        let is_tagged = layout.requests.is_some();
        assert_eq!((cts.capacity, cts.number), (MIB, Some(3)), "{release}");
        assert_eq!((cts.requests, cts.tag), (is_tagged.then_some(1), is_tagged.then_some(3)));
        assert_eq!(cts.address & 0xfff, 0, "a page: {cts:?}");
        let [key, others @ ..] = cts.remote_keys;
        assert!(key != 0 && key < 0x1_0000 && others == [0; 3], "{cts:?}");
    }
    let layouts = [CTS_32, CTS_64_TWO_KEYS, CTS_64_FOUR_KEYS, CTS_64_EIGHT_KEYS, CTS_32_UNTAGGED];
    let seen = CAPTURED.map(|(release, _)| *layout_of(release));
    assert_eq!(seen, layouts, "one of each");
}

#[test]
fn bytes_that_were_cut_off_are_not_decoded() {
    for (release, hex) in CAPTURED {
        let bytes = element(release, hex);
        let (whole, layout) = Cts::recognise(&bytes, bytes.len() as u32).unwrap();
        for kept in 0..bytes.len() {
            let Some((cut, same)) = Cts::recognise(&bytes[..kept], bytes.len() as u32) else {
                assert!(layout.requests.is_none_or(|at| kept < at + 4), "{release}, {kept} bytes");
                continue;
            };
            assert_eq!(same, layout, "{release}, {kept} bytes");
            let number = layout.number + if layout.requests.is_some() { 8 } else { 4 };
            let expected = Cts {
                requests: whole.requests.filter(|_| layout.requests.unwrap() + 4 <= kept),
                tag: whole.tag.filter(|_| layout.requests.unwrap() + 8 <= kept),
                number: whole.number.filter(|_| number <= kept),
                ..whole
            };
            assert_eq!(cut, expected, "{release}, {kept} bytes");
        }
    }
}

#[test]
fn several_receives_fill_the_write() {
    let (release, hex) = CAPTURED[2];
    let mut one = element(release, hex);
    one[32] = 3;
    let three = one.repeat(3);
    assert_eq!(Cts::recognise(&three, 192).unwrap().0.requests, Some(3));
    assert_eq!(Cts::recognise(&three, 128), None, "three receives do not fit");
    assert_eq!(Cts::recognise(&one, 64), None, "three receives do not fit");
}

#[test]
fn data_is_no_cts() {
    for len in [32, 64] {
        assert_eq!(Cts::recognise(&vec![0; len], len as u32), None);
        assert_eq!(Cts::recognise(&vec![0xff; len], len as u32), None);
        // Floats, like gradients.
        let floats: Vec<u8> = (0..len / 4).flat_map(|k| (k as f32 / 7.0).to_le_bytes()).collect();
        assert_eq!(Cts::recognise(&floats, len as u32), None);
    }
}
