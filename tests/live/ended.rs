//! What ended before the window is forgotten: memory is a function of what the window holds.

use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::Timestamp;

use super::recorded::{captures, pipeline, read};
use crate::support::frame::FrameBuilder;
use crate::support::ip::Ipv4;
use crate::support::recording::Recording;
use crate::support::roce::Roce;
use crate::support::tap;

const SECOND: u64 = 1_000_000_000;

/// Queue pairs that come and go, ten a second.
#[test]
fn queue_pairs_that_ended_are_forgotten() {
    let mut pipeline = pipeline(1 << 16);
    pipeline.add_tap(tap::ethernet("port0"));
    let mut most = 0;
    for number in 1..=3_000_u64 {
        let roce = Roce { dest_qpn: number as u32 + 1, ..Roce::new(0x0a, 64) };
        let port = 49_152 + (number % 1000) as u16;
        let packet = FrameBuilder::ethernet().ipv4(&Ipv4::default()).udp(port, 4791).roce(&roce);
        let bytes = packet.finish().bytes;
        pipeline.handle_frame(&Frame {
            tap: TapId(0),
            number,
            time: Timestamp::from_nanos(1_700_000_000 * SECOND + number * SECOND / 10),
            wire_len: bytes.len() as u32,
            bytes: &bytes,
            link_type: LinkType::Ethernet,
            direction: None,
        });
        if number % 100 == 0 {
            let understanding = pipeline.clone().understand();
            pipeline.slide(20 * SECOND, &understanding);
            most = most.max(pipeline.tracker().flows().flows().len());
        }
    }
    // 20 s of them, and those since the last time that it slid.
    assert!((200..=201).contains(&most), "{most}");
    let understanding = pipeline.clone().understand();
    let forgotten =
        understanding.health.iter().find(|(event, _)| event.name() == "flow.forgotten_flows");
    assert!(forgotten.is_some_and(|(_, count)| count >= 2_700));
    // Those that are left are found by their keys.
    let last = Roce { dest_qpn: 3_001, psn: 0xf1_f2f4, ..Roce::new(0x0a, 64) };
    let bytes = FrameBuilder::ethernet().ipv4(&Ipv4::default()).udp(49_152, 4791).roce(&last);
    let bytes = bytes.finish().bytes;
    let before = pipeline.tracker().flows().flows().len();
    pipeline.handle_frame(&Frame {
        tap: TapId(0),
        number: 3_001,
        time: Timestamp::from_nanos(1_700_000_000 * SECOND + 301 * SECOND),
        wire_len: bytes.len() as u32,
        bytes: &bytes,
        link_type: LinkType::Ethernet,
        direction: None,
    });
    assert_eq!(pipeline.tracker().flows().flows().len(), before);
}

/// A job that goes on keeps everything, however short the window is beside its age.
#[test]
fn a_job_that_goes_on_keeps_its_ranks() {
    let job = Recording::unpack("straggler-2.27.5");
    let files = captures(&job);
    let mut watched = pipeline(1 << 20);
    let mut whole = pipeline(1 << 20);
    let mut next = 0;
    read(&files, &mut whole, |_, _, _| {});
    read(&files, &mut watched, |pipeline, origin, time| {
        let passed = time.nanos_since(origin);
        if passed >= next {
            next = passed + SECOND / 2;
            let understanding = pipeline.clone().understand();
            pipeline.slide(SECOND, &understanding);
        }
    });
    let ranks = |pipeline: railscope_core::pipeline::Pipeline| {
        let understanding = pipeline.understand();
        let job = understanding.state.job.as_ref().unwrap();
        let of = |one: &railscope_core::link::job::Communicator| {
            let addresses = one.ranks.iter().map(|rank| (rank.rank, rank.address, rank.pid));
            (one.identity, one.nranks, addresses.collect::<Vec<_>>())
        };
        let mut all: Vec<_> = job.communicators.iter().map(of).collect();
        all.sort_by_key(|(identity, ..)| *identity);
        all
    };
    assert_eq!(ranks(watched), ranks(whole));
}
