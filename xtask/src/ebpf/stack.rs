//! How much stack the programs at functions and tracepoints take.
//!
//! From kernel 6.13 on (commit a76ab5731e32) such a program has a stack of its own for each CPU, not for
//! each task, where it takes 64 bytes or more. But a program at a function can be preempted, by another
//! task that calls the function on the same CPU: then the two write into one stack, and an event has the
//! arguments of another process, or worse.

use anyhow::{Result, ensure};
use object::{Object, ObjectSection};

/// Less than what makes the kernel give a program a stack of its own, in steps of 16.
const MOST: i32 = 48;

/// Sections of programs that can be preempted.
const SECTIONS: [&str; 3] = ["uprobe", "uretprobe", "tracepoint"];

/// Register 10, the frame pointer.
const FRAME: u8 = 10;

/// Fails where a program takes too much.
pub(super) fn check(object: &[u8]) -> Result<()> {
    let file = object::File::parse(object)?;
    for name in SECTIONS {
        let section = file.section_by_name(name);
        ensure!(section.is_some(), "no programs in {name}");
        let depth = section.map(|section| section.data()).transpose()?.map_or(0, depth);
        ensure!(depth <= MOST, "a program in {name} takes {depth} bytes of stack, {MOST} may be");
    }
    Ok(())
}

/// Bytes between the frame pointer and the lowest place that is named by it (RFC 9669, section 3: 8
/// bytes an instruction).
fn depth(code: &[u8]) -> i32 {
    let mut frames = [false; 16];
    let mut lowest = 0;
    for instruction in code.chunks_exact(8) {
        let [operation, registers, low, high, a, b, c, d] = instruction else { continue };
        let (to, from) = (registers & 0xf, registers >> 4);
        let offset = i32::from(i16::from_le_bytes([*low, *high]));
        let immediate = i32::from_le_bytes([*a, *b, *c, *d]);
        match operation {
            // `r = r10` and then `r += N`: the address of a place.
            0xbf => {
                if let Some(is_frame) = frames.get_mut(usize::from(to)) {
                    *is_frame = from == FRAME;
                }
            }
            0x07 if frames.get(usize::from(to)) == Some(&true) => lowest = lowest.min(immediate),
            _ => {
                let is_load = operation & 7 == 1 && from == FRAME;
                let is_store = matches!(operation & 7, 2 | 3) && to == FRAME;
                if is_load || is_store {
                    lowest = lowest.min(offset);
                }
            }
        }
    }
    -lowest
}

#[cfg(test)]
mod tests {
    use super::depth;

    #[test]
    fn places_are_found_by_load_store_and_address() {
        // r1 = *(u64 *)(r10 - 24); *(u64 *)(r10 - 8) = r1; r2 = r10; r2 += -40; r3 += -64; exit
        let code = [
            [0x79, 0xa1, 0xe8, 0xff, 0, 0, 0, 0],
            [0x7b, 0x1a, 0xf8, 0xff, 0, 0, 0, 0],
            [0xbf, 0xa2, 0, 0, 0, 0, 0, 0],
            [0x07, 0x02, 0, 0, 0xd8, 0xff, 0xff, 0xff],
            [0x07, 0x03, 0, 0, 0xc0, 0xff, 0xff, 0xff],
            [0x95, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(depth(code[..1].as_flattened()), 24);
        assert_eq!(depth(code.as_flattened()), 40);
        assert_eq!(depth(&[]), 0);
    }
}
