//! Sends frames out of an interface, millions a second from one core: an XDP program that the kernel runs on
//! frames of its own, as pktgen would.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use super::frames::{Frames, LEN};
use super::sys::{Instruction, Program, Shared};

/// Runs of the program in one call: so many frames.
pub(super) const RUNS: u32 = 1 << 20;

/// Words shared with the program: frames sent so far, how many to send, and the index of the interface, 0 to
/// drop them.
const SENT: usize = 0;
const LIMIT: usize = 1;
const INTERFACE: usize = 2;
const WORDS: usize = 3;

pub(super) struct Sender {
    program: Program,
    state: Shared,
    /// The program reads it.
    _table: Shared,
}

impl Sender {
    pub(super) fn new(frames: &Frames) -> io::Result<Self> {
        let state = Shared::new(8 * WORDS)?;
        let table = Shared::new(frames.bytes.len())?;
        for (word, bytes) in table.words().iter().zip(frames.bytes.chunks_exact(8)) {
            word.store(bytes.try_into().map_or(0, u64::from_ne_bytes), Relaxed);
        }
        let program = Program::load(&program(&state, &table, frames))?;
        Ok(Self { program, state, _table: table })
    }

    /// Sends so many frames out of the interface with this index in the calling thread's network namespace; or
    /// makes them only.
    pub(super) fn send(&self, interface: u32, frames: u64, are_sent: bool) -> io::Result<()> {
        let words = self.state.words();
        words[INTERFACE].store(if are_sent { interface.into() } else { 0 }, Relaxed);
        let limit = words[SENT].load(Relaxed) + frames;
        words[LIMIT].store(limit, Relaxed);
        while words[SENT].load(Relaxed) < limit {
            let left = limit - words[SENT].load(Relaxed);
            let runs = u32::try_from(left).unwrap_or(RUNS).min(RUNS);
            self.program.run(&[0; LEN], interface, runs)?;
        }
        Ok(())
    }
}

/// Registers: what a call or the program returns, scratch, and those that calls leave alone.
const R0: u8 = 0;
const R1: u8 = 1;
const R2: u8 = 2;
const R3: u8 = 3;
const R4: u8 = 4;
const CONTEXT: u8 = 6;
const STATE: u8 = 7;
const NUMBER: u8 = 8;
const LAP: u8 = 9;

/// Instructions, by what they do (`BPF_ALU64`, `BPF_JMP`, `BPF_LDX`, `BPF_STX`, with `BPF_K` and `BPF_X`).
const MOVE: u8 = 0xb7;
const MOVE_REGISTER: u8 = 0xbf;
const ADD: u8 = 0x07;
const ADD_REGISTER: u8 = 0x0f;
const MULTIPLY: u8 = 0x27;
const DIVIDE: u8 = 0x37;
const REMAINDER: u8 = 0x97;
const AND: u8 = 0x57;
const OR_REGISTER: u8 = 0x4f;
const BIG_ENDIAN: u8 = 0xdc;
const LOAD_BYTE: u8 = 0x71;
const LOAD_WORD: u8 = 0x61;
const LOAD_LONG: u8 = 0x79;
const STORE_WORD: u8 = 0x63;
const STORE_LONG: u8 = 0x7b;
const IF_EQUAL: u8 = 0x15;
const IF_NOT_EQUAL: u8 = 0x55;
const IF_ABOVE: u8 = 0x2d;
const IF_AT_LEAST: u8 = 0x3d;
const IF_AT_LEAST_VALUE: u8 = 0x35;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const LOAD_ADDRESS: u8 = 0x18;

/// The pseudo-register that makes a loaded address that of an array's value.
const MAP_VALUE: u8 = 2;
const REDIRECT: i32 = 23;

const XDP_DROP: i32 = 1;

/// A jump to the end, where the frame is dropped.
const TO_DROP: i16 = i16::MAX;

/// Makes the frame the next of the table, whose sequence numbers continue from lap to lap, and sends it.
fn program(state: &Shared, table: &Shared, frames: &Frames) -> Vec<Instruction> {
    let count = frames.count() as i32;
    let mut code = vec![one(MOVE_REGISTER, CONTEXT, R1, 0, 0)];
    code.extend(address(STATE, state));
    code.extend([
        one(LOAD_LONG, NUMBER, STATE, word(SENT), 0),
        one(LOAD_LONG, R1, STATE, word(LIMIT), 0),
        one(IF_AT_LEAST, NUMBER, R1, TO_DROP, 0),
        one(MOVE_REGISTER, R1, NUMBER, 0, 0),
        one(ADD, R1, 0, 0, 1),
        one(STORE_LONG, STATE, R1, word(SENT), 0),
        // The place in the table.
        one(MOVE_REGISTER, LAP, NUMBER, 0, 0),
        one(DIVIDE, LAP, 0, 0, count),
        one(MOVE_REGISTER, R4, NUMBER, 0, 0),
        one(REMAINDER, R4, 0, 0, count),
        one(IF_AT_LEAST_VALUE, R4, 0, TO_DROP, count),
        one(MULTIPLY, R4, 0, 0, LEN as i32),
    ]);
    code.extend(address(R3, table));
    code.extend([
        one(ADD_REGISTER, R3, R4, 0, 0),
        one(LOAD_WORD, R1, CONTEXT, 0, 0),
        one(LOAD_WORD, R2, CONTEXT, 4, 0),
        one(MOVE_REGISTER, R4, R1, 0, 0),
        one(ADD, R4, 0, 0, LEN as i32),
        one(IF_ABOVE, R4, R2, TO_DROP, 0),
    ]);
    for at in (0..LEN as i16).step_by(8) {
        code.extend([one(LOAD_LONG, R2, R3, at, 0), one(STORE_LONG, R1, R2, at, 0)]);
    }
    // The number of an ACK's message, then the packet's.
    code.extend([
        one(LOAD_BYTE, R2, R1, frames.bth, 0),
        one(IF_NOT_EQUAL, R2, 0, 9, 0x11),
        one(MOVE_REGISTER, R3, LAP, 0, 0),
    ]);
    code.extend(add_24(frames.bth + 12));
    code.extend([one(MOVE_REGISTER, R3, LAP, 0, 0), one(MULTIPLY, R3, 0, 0, frames.psns)]);
    code.extend(add_24(frames.bth + 8));
    if let Some(sequence) = frames.sequence {
        code.extend([
            one(MOVE_REGISTER, R2, NUMBER, 0, 0),
            one(BIG_ENDIAN, R2, 0, 0, 32),
            one(STORE_WORD, R1, R2, sequence, 0),
        ]);
    }
    code.extend([
        one(LOAD_LONG, R1, STATE, word(INTERFACE), 0),
        one(IF_EQUAL, R1, 0, TO_DROP, 0),
        one(MOVE, R2, 0, 0, 0),
        one(CALL, 0, 0, 0, REDIRECT),
        one(EXIT, 0, 0, 0, 0),
    ]);
    let end = code.len() as i16;
    code.extend([one(MOVE, R0, 0, 0, XDP_DROP), one(EXIT, 0, 0, 0, 0)]);
    for (at, instruction) in (0..).zip(&mut code) {
        if instruction.offset == TO_DROP {
            instruction.offset = end - at - 1;
        }
    }
    code
}

/// Adds R3 to the lower 24 bits of four bytes of the frame at R1.
fn add_24(at: i16) -> [Instruction; 8] {
    [
        one(LOAD_WORD, R2, R1, at, 0),
        one(BIG_ENDIAN, R2, 0, 0, 32),
        one(ADD_REGISTER, R3, R2, 0, 0),
        one(AND, R3, 0, 0, 0xff_ffff),
        one(AND, R2, 0, 0, 0xff00_0000_u32.cast_signed()),
        one(OR_REGISTER, R2, R3, 0, 0),
        one(BIG_ENDIAN, R2, 0, 0, 32),
        one(STORE_WORD, R1, R2, at, 0),
    ]
}

const fn word(index: usize) -> i16 {
    8 * index as i16
}

fn address(register: u8, of: &Shared) -> [Instruction; 2] {
    [one(LOAD_ADDRESS, register, MAP_VALUE, 0, of.fd()), one(0, 0, 0, 0, 0)]
}

const fn one(code: u8, to: u8, from: u8, offset: i16, value: i32) -> Instruction {
    Instruction { code, registers: to | from << 4, offset, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_frames_are_made() {
        for session in [false, true] {
            let sender = match Sender::new(&Frames::new(session)) {
                Err(error) if !crate::ci::requires_all() => {
                    eprintln!("skipped: so_many_frames_are_made: needs root: {error}");
                    return;
                }
                sender => sender.unwrap(),
            };
            let work = || {
                nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
                // Its loopback interface, which takes no such frames.
                sender.send(1, 10_000, false).unwrap();
            };
            std::thread::scope(|scope| scope.spawn(work).join()).unwrap();
            assert_eq!(sender.state.words()[SENT].load(Relaxed), 10_000);
        }
    }
}
