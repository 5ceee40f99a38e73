//! A capture of any length from a [`Job`]: its control plane, then its data traffic again and again.

use std::io::{self, Write};

use super::job::{Frame, Job, Shift};
use super::pcapng;
use super::wire::{self, Fields, MASK_24};

/// Writes a pcapng of at least `bytes`, in whole laps; the number of frames in it.
pub(super) fn write(job: &Job, bytes: u64, out: &mut impl Write) -> io::Result<u64> {
    pcapng::write_head(out, job.taps.iter().map(String::as_str))?;
    let laps = bytes.div_ceil(lap_bytes(job)).max(1);
    let mut frames = 0;
    let mut scratch = Vec::new();
    let mut put = |frame: &Frame, lap: u64| {
        scratch.clear();
        scratch.extend_from_slice(&frame.bytes);
        if let Some(shift) = frame.shift.filter(|_| lap > 0) {
            advance(&mut scratch, frame.wire_len as usize, &shift, lap);
        }
        let time_ns = frame.time_ns + lap * job.lap_ns;
        frames += 1;
        pcapng::write_frame(out, frame.tap, time_ns, frame.wire_len, &scratch)
    };
    job.before.iter().try_for_each(|frame| put(frame, 0))?;
    for lap in 0..laps {
        let mut packets = job.lap.iter().filter(|frame| lap == 0 || frame.shift.is_some());
        packets.try_for_each(|frame| put(frame, lap))?;
    }
    job.after.iter().try_for_each(|frame| put(frame, laps - 1))?;
    out.flush()?;
    Ok(frames)
}

fn lap_bytes(job: &Job) -> u64 {
    let packets = job.lap.iter().filter(|frame| frame.shift.is_some());
    packets.map(|frame| pcapng::frame_len(frame.bytes.len()) as u64).sum()
}

/// Makes the first lap's packet in `frame` that of lap `lap`.
fn advance(frame: &mut [u8], wire_len: usize, shift: &Shift, lap: u64) {
    let grown = |number: u32, by: u32| number.wrapping_add(by.wrapping_mul(lap as u32)) & MASK_24;
    if let Some(count) = shift.clear_to_sends {
        wire::clear_to_send::advance(frame, count.wrapping_mul(lap));
    }
    let identification = shift.identification.wrapping_mul(lap as u16);
    let fields = Fields {
        identification: wire::identification(frame).wrapping_add(identification),
        udp_source: wire::udp_source(frame),
        dest_qpn: wire::dest_qpn(frame),
        psn: grown(wire::psn(frame), shift.psn),
        msn: shift.msn.map(|by| grown(wire::msn(frame), by)),
    };
    wire::rewrite(frame, wire_len, &fields);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::job::Job;
    use super::super::wire;
    use super::{lap_bytes, write};
    use crate::recording::Recording;
    use crate::repository::root;

    /// Every frame of a made capture, with its tap and time.
    fn frames(capture: &[u8]) -> Vec<(u32, u64, &[u8])> {
        let mut frames = Vec::new();
        let mut at = 0;
        let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap());
        while at < capture.len() {
            let (kind, len) = (word(at), word(at + 4) as usize);
            if kind == 6 {
                let time = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
                let captured_len = word(at + 20) as usize;
                frames.push((word(at + 8), time, &capture[at + 28..at + 28 + captured_len]));
            }
            assert_eq!(word(at + len - 4) as usize, len);
            at += len;
        }
        frames
    }

    #[test]
    fn a_job_goes_on_as_it_began() {
        let recording = root().join("tests/captures/ring-2.27.5.tar.zst");
        let job = Job::new(&Recording::read(&recording).unwrap()).unwrap();
        let mut capture = Vec::new();
        let count = write(&job, lap_bytes(&job) * 5 / 2, &mut capture).unwrap();
        let frames = frames(&capture);
        assert_eq!(frames.len() as u64, count);
        assert!(frames.windows(2).all(|pair| pair[0].1 <= pair[1].1));
        let mut psns = BTreeMap::new();
        let mut msns = BTreeMap::new();
        let mut clear_to_sends: BTreeMap<_, Vec<(u64, u64)>> = BTreeMap::new();
        for (tap, _, frame) in frames.into_iter().filter(|(_, _, frame)| wire::is_roce(frame)) {
            let flow = (tap, wire::destination_address(frame), wire::dest_qpn(frame));
            if wire::opcode(frame) == wire::ACKNOWLEDGE {
                let next = msns.entry(flow).or_insert(1);
                assert_eq!(wire::msn(frame), *next);
                *next += 1;
                continue;
            }
            let next = psns.entry(flow).or_insert(0);
            assert_eq!(wire::psn(frame), *next);
            *next += 1;
            if wire::clear_to_send::is(frame) {
                let read = |at: usize| <[u8; 8]>::try_from(&frame[at..at + 8]).unwrap();
                let (slot, number) = (u64::from_be_bytes(read(54)), u64::from_le_bytes(read(110)));
                clear_to_sends.entry(flow).or_default().push((number, slot));
            }
        }
        // Eight connections, each seen at both ends.
        assert_eq!((psns.len(), clear_to_sends.len()), (32, 16));
        for sent in clear_to_sends.values() {
            let first = sent[0].1;
            let expected = |at: u64| (at + 1, first + at % 256 * 512);
            assert!(sent.iter().zip(0..).all(|(sent, at)| *sent == expected(at)));
            assert!(sent.len() > 1000 && sent.len() % 3 == 0);
        }
    }
}
