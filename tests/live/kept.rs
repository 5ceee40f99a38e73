//! The state that the kernel programs keep for a flow between packets, and how they time its
//! packets.

use railscope_ebpf::event::Run;
use railscope_ebpf::flow::{Arrival, Clock, FlowState, NONE};
use railscope_ebpf::settings::Settings;

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;

/// Largest uncertainty of a packet's time.
const UNSURE: u64 = 250 * MICROSECOND;

const FIRST: u8 = 0x06;
const MIDDLE: u8 = 0x07;
const LAST: u8 = 0x08;
const ACKNOWLEDGE: u8 = 0x11;

/// A kernel with ticks of this many nanoseconds, and one flow.
struct Kernel {
    tick_ns: u64,
    flow: Option<FlowState>,
    /// Clock reads, except those for packets that are delivered.
    reads: u32,
}

impl Kernel {
    fn new(tick_ns: u64) -> Self {
        Self { tick_ns, flow: None, reads: 0 }
    }

    /// As in the program: the run that is delivered with the packet; `None` if the packet is only
    /// counted.
    fn pass(&mut self, time: u64, arrival: &Arrival) -> Option<Run> {
        let clock = Clock { time, tick: (time / self.tick_ns) as u32 };
        let Some(flow) = &mut self.flow else {
            self.flow = Some(FlowState::new(arrival, clock));
            return Some(bytemuck::Zeroable::zeroed());
        };
        if flow.goes_on_with(arrival) {
            if flow.needs_no_time(arrival, clock.tick) {
                flow.count(arrival);
                return None;
            }
            if flow.is_open(arrival, time, Settings::DEFAULT.run_limit) {
                self.reads += 1;
                flow.count_timed(arrival, clock);
                return None;
            }
        }
        flow.end_run(time);
        let run = flow.run;
        flow.handed_out(arrival, clock);
        Some(run)
    }
}

fn request(opcode: u8, psn: u32) -> Arrival {
    Arrival {
        wire_len: 4154,
        opcode,
        asks_for_ack: false,
        psn,
        aeth: NONE,
        fields: 0xc000_ffff,
        dscp: 26,
        ecn: 2,
    }
}

fn response(psn: u32, aeth: u32) -> Arrival {
    Arrival { wire_len: 62, aeth, ..request(ACKNOWLEDGE, psn) }
}

#[test]
fn the_clock_is_read_for_one_packet_in_eight() {
    let mut kernel = Kernel::new(4 * MILLISECOND);
    assert!(kernel.pass(0, &request(FIRST, 0)).is_some());
    for psn in 1..200 {
        assert_eq!(kernel.pass(u64::from(psn) * 3 * MICROSECOND, &request(MIDDLE, psn)), None);
    }
    assert_eq!(kernel.reads, 25);
    let run = kernel.pass(600 * MICROSECOND, &request(LAST, 200)).unwrap();
    assert_eq!((run.frames, run.first_psn, run.last_psn), (199, 1, 199));
    assert_eq!(run.first_time, 3 * MICROSECOND);
    assert!(run.last_time.abs_diff(597 * MICROSECOND) <= MICROSECOND, "{run:?}");
}

/// A timeout shows as silence before a retransmission.
#[test]
fn silence_behind_a_run_stays_silence() {
    for packets in 1..20 {
        for silence in [MILLISECOND, 4 * MILLISECOND, 67 * MILLISECOND] {
            let mut kernel = Kernel::new(10 * MILLISECOND);
            kernel.pass(0, &request(FIRST, 0));
            for psn in 1..=packets {
                kernel.pass(u64::from(psn) * MICROSECOND, &request(MIDDLE, psn));
            }
            let last = u64::from(packets) * MICROSECOND;
            let run = kernel.pass(last + silence, &request(FIRST, 0)).unwrap();
            assert!(run.last_time.abs_diff(last) <= UNSURE, "{packets}: {run:?}");
        }
    }
}

/// With coarse kernel ticks and slow flows too: burst buckets wait for the runs.
#[test]
fn runs_end_in_time() {
    for tick in [1, 4, 10] {
        for gap in (1..1_000).step_by(7) {
            let mut kernel = Kernel::new(tick * MILLISECOND);
            let mut begun = None;
            for psn in 0..5_000 {
                let time = u64::from(psn) * gap * MICROSECOND;
                let opcode = if psn == 0 { FIRST } else { MIDDLE };
                if kernel.pass(time, &request(opcode, psn)).is_none() {
                    begun.get_or_insert(time);
                } else if let Some(begun) = begun.take() {
                    let limit = Settings::DEFAULT.run_limit + UNSURE + gap * MICROSECOND;
                    assert!(time - begun <= limit, "{tick} ms, {gap} us: {}", time - begun);
                }
            }
        }
    }
}

/// ACKs within a message are counted. Those that complete a message, NAKs, and those after a
/// timeout are delivered.
#[test]
fn acknowledgements_that_say_something_are_handed_out() {
    let positive = |messages: u32| 0x1f00_0000 | messages;
    let mut kernel = Kernel::new(4 * MILLISECOND);
    let mut time = 0;
    let mut is_counted = |psn, aeth, later| {
        time += later;
        kernel.pass(time, &response(psn, aeth)).is_none()
    };
    assert!(!is_counted(10, positive(1), 0));
    assert!(is_counted(20, positive(1), MICROSECOND));
    assert!(is_counted(30, positive(1), MICROSECOND));
    assert!(!is_counted(30, positive(1), MICROSECOND), "a repeated ACK");
    assert!(is_counted(40, positive(1), MICROSECOND));
    assert!(!is_counted(50, positive(2), MICROSECOND), "a message is complete");
    assert!(is_counted(60, positive(2), MICROSECOND));
    assert!(!is_counted(61, 0x6000_0002, MICROSECOND), "a NAK");
    assert!(!is_counted(70, positive(2), MICROSECOND), "within the message that got the NAK");
    assert!(!is_counted(80, positive(2), MICROSECOND), "within the message that got the NAK");
    assert!(!is_counted(90, positive(3), MICROSECOND), "that message is complete");
    assert!(is_counted(95, positive(3), MICROSECOND));
    assert!(!is_counted(99, positive(4), MICROSECOND), "a message is complete");
    assert!(!is_counted(110, positive(4), 16 * MILLISECOND), "after a timeout");
    assert!(is_counted(120, positive(4), MICROSECOND));
    assert!(!is_counted(130, 0x2000_0004, MICROSECOND), "receiver not ready");
}
