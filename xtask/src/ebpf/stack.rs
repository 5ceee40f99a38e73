//! How much stack the programs at functions and tracepoints take.
//!
//! From kernel 6.13 on (commit a76ab5731e32) such a program gets a stack per CPU, not per task, if it
//! uses 64 bytes or more. But a program at a function can be preempted by another task that calls the
//! same function on the same CPU: both then write into one stack, and an event gets the arguments of
//! another process, or worse.

use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSection, SectionKind};

/// The largest stack, in steps of 16 bytes, for which the kernel does not allocate a private one.
const MOST: i32 = 48;

/// The sections of programs at traffic control and XDP, which are not preempted. All other sections are
/// checked, and so are functions that programs call.
const NOT_PREEMPTED: [&str; 2] = ["classifier", "xdp.frags"];

/// Register 10, the frame pointer.
const FRAME: usize = 10;

/// Fails if a program uses too much stack.
pub(super) fn check(object: &[u8]) -> Result<()> {
    let file = object::File::parse(object)?;
    let mut count = 0;
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
        let name = section.name()?;
        if NOT_PREEMPTED.contains(&name) {
            continue;
        }
        let depth = depth(section.data()?).with_context(|| format!("programs in {name}"))?;
        ensure!(depth <= MOST, "a program in {name} takes {depth} bytes of stack, {MOST} may be");
        count += 1;
    }
    ensure!(count > 0, "it has no programs at functions");
    Ok(())
}

/// Bytes from the frame pointer down to the lowest address used relative to it, found in one pass over
/// the instructions (8 bytes each: RFC 9669, section 3).
fn depth(code: &[u8]) -> Result<i32> {
    // How far below the frame pointer a register points.
    let mut places: [Option<i32>; 16] = [None; 16];
    places[FRAME] = Some(0);
    let mut lowest = 0;
    for instruction in code.chunks(8) {
        let &[operation, registers, low, high, a, b, c, d] = instruction else {
            anyhow::bail!("half an instruction");
        };
        let (to, from) = (usize::from(registers & 0xf), usize::from(registers >> 4));
        let offset = i32::from(i16::from_le_bytes([low, high]));
        let immediate = i32::from_le_bytes([a, b, c, d]);
        let mut reach = |place: Option<i32>, more: i32| {
            lowest = lowest.min(place.map_or(0, |place| place + more));
        };
        match (operation, operation & 7) {
            // `to = from`
            (0xbf, _) => places[to] = places[from],
            // `to += immediate`
            (0x07, _) => {
                reach(places[to], immediate);
                places[to] = places[to].map(|place| place + immediate);
            }
            // Stores.
            (_, 2 | 3) => reach(places[to], offset),
            // Calls leave nothing in the registers of arguments.
            (0x85, _) => places[..6].fill(None),
            // Loads.
            (_, 1) => {
                reach(places[from], offset);
                places[to] = None;
            }
            // Numbers and arithmetic make no address; jumps write nothing.
            (_, 0 | 4 | 7) => places[to] = None,
            _ => {}
        }
        places[FRAME] = Some(0);
    }
    Ok(-lowest)
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
        assert_eq!(depth(code[..1].as_flattened()).unwrap(), 24);
        assert_eq!(depth(code.as_flattened()).unwrap(), 40);
        assert_eq!(depth(&[]).unwrap(), 0);
        assert!(depth(&[0x95]).is_err());
        // r2 = r10; r2 += -16; r3 = r2; r3 += -64
        let copied = [
            [0xbf, 0xa2, 0, 0, 0, 0, 0, 0],
            [0x07, 0x02, 0, 0, 0xf0, 0xff, 0xff, 0xff],
            [0xbf, 0x23, 0, 0, 0, 0, 0, 0],
            [0x07, 0x03, 0, 0, 0xc0, 0xff, 0xff, 0xff],
        ];
        assert_eq!(depth(copied.as_flattened()).unwrap(), 80);
    }
}
