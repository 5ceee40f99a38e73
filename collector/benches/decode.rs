//! What one frame costs to decode, against etherparse's lax slicing of the same bytes, which stops
//! at UDP; the BTH is read by hand behind it. Frames are as a 128-byte snap length keeps them.

use divan::{Bencher, black_box};
use etherparse::{LaxSlicedPacket, TransportSlice};
use railscope_core::decode::frame::{decode, decode_with};
use railscope_core::decode::roce::bth::Bth;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::Timestamp;

const SNAP_LEN: usize = 128;
const WRITE_ONLY: u8 = 0x0a;
const WRITE_MIDDLE: u8 = 0x07;
const ACKNOWLEDGE: u8 = 0x11;

fn main() {
    divan::main();
}

/// A frame by what surrounds the RoCE headers in it.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Write,
    WriteMiddle,
    Acknowledge,
    Vlan,
    Ipv6,
    Vxlan,
}

const SHAPES: [Shape; 6] =
    [Shape::Write, Shape::WriteMiddle, Shape::Acknowledge, Shape::Vlan, Shape::Ipv6, Shape::Vxlan];

fn ethernet(tag: &[u8], ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let addresses = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    [&addresses[..], tag, &ether_type.to_be_bytes(), payload].concat()
}

fn ipv4(payload: &[u8]) -> Vec<u8> {
    let [l0, l1] = (payload.len() as u16 + 20).to_be_bytes();
    #[rustfmt::skip]
    let header = [
        0x45, 0x6a, l0, l1, 0x12, 0x34, 0x40, 0, 64, 17, 0, 0,
        10, 0, 0, 1, 10, 0, 0, 2,
    ];
    [&header[..], payload].concat()
}

fn ipv6(payload: &[u8]) -> Vec<u8> {
    let [l0, l1] = (payload.len() as u16).to_be_bytes();
    let mut header = vec![0x66, 0xa0, 0, 0, l0, l1, 17, 64];
    for host in [1, 2] {
        header.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
    }
    [&header[..], payload].concat()
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let [p0, p1] = port.to_be_bytes();
    let [l0, l1] = (payload.len() as u16 + 8).to_be_bytes();
    [&[0xc0, 0x01, p0, p1, l0, l1, 0, 0], payload].concat()
}

fn roce(opcode: u8, extension: &[u8], payload_len: usize) -> Vec<u8> {
    let bth = [opcode, 0, 0xff, 0xff, 0, 0, 0, 0x11, 0x80, 0, 0, 7];
    [&bth[..], extension, &vec![0x5a; payload_len + 4]].concat()
}

fn build(shape: Shape) -> Vec<u8> {
    let reth = [0, 0, 0x7f, 0, 0, 0, 0x10, 0, 0, 0, 0x22, 0x22, 0, 0, 4, 0];
    let write = udp(4791, &roce(WRITE_ONLY, &reth, 1024));
    match shape {
        Shape::Write => ethernet(&[], 0x0800, &ipv4(&write)),
        Shape::WriteMiddle => {
            ethernet(&[], 0x0800, &ipv4(&udp(4791, &roce(WRITE_MIDDLE, &[], 1024))))
        }
        Shape::Acknowledge => {
            ethernet(&[], 0x0800, &ipv4(&udp(4791, &roce(ACKNOWLEDGE, &[0x1f, 0, 0, 3], 0))))
        }
        Shape::Vlan => ethernet(&[0x81, 0, 0x60, 100], 0x0800, &ipv4(&write)),
        Shape::Ipv6 => ethernet(&[], 0x86dd, &ipv6(&write)),
        Shape::Vxlan => {
            let inner = ethernet(&[], 0x0800, &ipv4(&write));
            let vxlan = [&[8, 0, 0, 0, 0, 0, 42, 0], &inner[..]].concat();
            ethernet(&[], 0x0800, &ipv4(&udp(4789, &vxlan)))
        }
    }
}

fn frame(bytes: &[u8]) -> Frame<'_> {
    Frame {
        tap: TapId(0),
        number: 1,
        time: Timestamp::EPOCH,
        wire_len: bytes.len() as u32,
        bytes: bytes.get(..SNAP_LEN).unwrap_or(bytes),
        link_type: LinkType::Ethernet,
        direction: None,
    }
}

#[divan::bench(args = SHAPES)]
fn railscope(bencher: Bencher<'_, '_>, shape: Shape) {
    let bytes = build(shape);
    let frame = frame(&bytes);
    bencher.bench_local(|| decode_with(black_box(&frame), |packet| _ = black_box(packet)));
}

#[divan::bench(args = SHAPES)]
fn railscope_by_value(bencher: Bencher<'_, '_>, shape: Shape) {
    let bytes = build(shape);
    let frame = frame(&bytes);
    bencher.bench_local(|| {
        let packet = decode(black_box(&frame));
        black_box(&packet);
    });
}

#[divan::bench(args = SHAPES)]
fn etherparse(bencher: Bencher<'_, '_>, shape: Shape) {
    let bytes = build(shape);
    let frame = frame(&bytes);
    bencher.bench_local(|| {
        let packet = LaxSlicedPacket::from_ethernet(black_box(frame.bytes)).ok();
        let bth = match packet.as_ref().and_then(|packet| packet.transport.as_ref()) {
            Some(TransportSlice::Udp(udp)) => udp.payload().first_chunk().map(Bth::decode),
            _ => None,
        };
        black_box((&packet, &bth));
    });
}
