//! The program that decides how much the kernel keeps of each frame (classic BPF,
//! Documentation/networking/filter.rst): the first bytes of a RoCEv2 packet, as the rest is application
//! data, and all of any other frame, as NCCL's control plane is in TCP payload.

/// One instruction: `struct sock_filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) code: u16,
    pub(super) if_true: u8,
    pub(super) if_false: u8,
    pub(super) value: u32,
}

/// `BPF_LD | BPF_ABS` of 2 bytes and of 1.
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE: u16 = 0x30;
/// `BPF_LD | BPF_IND | BPF_H`: 2 bytes at an offset from X.
const LOAD_HALF_FROM_X: u16 = 0x48;
/// `BPF_LDX | BPF_MSH | BPF_B`: X is the length of the IPv4 header at an offset.
const LOAD_HEADER_LEN: u16 = 0xb1;
/// `BPF_JMP | BPF_JEQ | BPF_K` and `BPF_JMP | BPF_JSET | BPF_K`.
const IF_EQUAL: u16 = 0x15;
const IF_ANY_BIT: u16 = 0x45;
/// `BPF_RET | BPF_K`
const KEEP: u16 = 0x06;

const IPV4: u32 = 0x0800;
const IPV6: u32 = 0x86dd;
const UDP: u32 = 17;
/// IANA's port of RoCEv2.
const ROCE_V2: u32 = 4791;
/// The fragment offset of IPv4: only the first fragment has ports.
const FRAGMENT_OFFSET: u32 = 0x1fff;

/// Indices of instructions that others jump to.
const AT_IPV6: u8 = 9;
const AT_ROCE: u8 = 14;
const AT_WHOLE: u8 = 15;

/// For Ethernet frames: keeps `roce_bytes` of RoCEv2 over IPv4 or IPv6, and `other_bytes` of other frames.
///
/// The kernel removes a VLAN tag before the program runs. Frames with two tags are other frames. The kernel
/// drops a frame that is too short for the program's reads, as with a UDP header truncated on the wire.
pub(super) fn program(roce_bytes: u32, other_bytes: u32) -> [Instruction; 16] {
    [
        load(LOAD_HALF, 12),
        branch(1, IF_EQUAL, IPV4, 2, AT_IPV6),
        load(LOAD_BYTE, 14 + 9),
        branch(3, IF_EQUAL, UDP, 4, AT_WHOLE),
        load(LOAD_HALF, 14 + 6),
        branch(5, IF_ANY_BIT, FRAGMENT_OFFSET, AT_WHOLE, 6),
        load(LOAD_HEADER_LEN, 14),
        load(LOAD_HALF_FROM_X, 14 + 2),
        branch(8, IF_EQUAL, ROCE_V2, AT_ROCE, AT_WHOLE),
        branch(AT_IPV6, IF_EQUAL, IPV6, 10, AT_WHOLE),
        load(LOAD_BYTE, 14 + 6),
        branch(11, IF_EQUAL, UDP, 12, AT_WHOLE),
        load(LOAD_HALF, 14 + 40 + 2),
        branch(13, IF_EQUAL, ROCE_V2, AT_ROCE, AT_WHOLE),
        load(KEEP, roce_bytes),
        load(KEEP, other_bytes),
    ]
}

fn load(code: u16, value: u32) -> Instruction {
    Instruction { code, if_true: 0, if_false: 0, value }
}

/// A jump from the instruction at `from`; the kernel counts from the next one.
fn branch(from: u8, code: u16, value: u32, if_true: u8, if_false: u8) -> Instruction {
    let distance = |to: u8| to.wrapping_sub(from).wrapping_sub(1);
    Instruction { code, if_true: distance(if_true), if_false: distance(if_false), value }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::super::sys;
    use super::program;

    /// Bytes that the kernel lets pass of a frame of 1,000 that begins with `head`.
    fn kept(head: &[u8]) -> usize {
        let (to, from) = UnixDatagram::pair().unwrap();
        sys::attach(&to, &program(200, super::super::WHOLE)).unwrap();
        let mut frame = head.to_vec();
        frame.resize(1000, 0);
        from.send(&frame).unwrap();
        to.recv(&mut [0; 2000]).unwrap()
    }

    fn ethernet(ether_type: u16) -> Vec<u8> {
        [&[2; 12], &ether_type.to_be_bytes()[..]].concat()
    }

    /// With `words` of options, to a port.
    fn ipv4(words: u8, protocol: u8, fragment: u16, port: u16) -> Vec<u8> {
        let mut frame = ethernet(0x0800);
        frame.extend([0x45 + words, 0, 3, 0xda, 0, 0]);
        frame.extend(fragment.to_be_bytes());
        frame.extend([64, protocol]);
        frame.resize(14 + 20 + 4 * usize::from(words), 0);
        frame.extend([0xc0, 0]);
        frame.extend(port.to_be_bytes());
        frame
    }

    fn ipv6(next_header: u8, port: u16) -> Vec<u8> {
        let mut frame = ethernet(0x86dd);
        frame.extend([0x60, 0, 0, 0, 3, 0xb2, next_header, 64]);
        frame.resize(14 + 40, 0);
        frame.extend([0xc0, 0]);
        frame.extend(port.to_be_bytes());
        frame
    }

    #[test]
    fn the_kernel_cuts_roce_and_nothing_else() {
        for frame in [ipv4(0, 17, 0, 4791), ipv4(3, 17, 0x4000, 4791), ipv6(17, 4791)] {
            assert_eq!(kept(&frame), 200, "{frame:02x?}");
        }
        for frame in [
            ipv4(0, 17, 0, 4792),
            ipv4(0, 6, 0, 4791),
            ipv4(0, 17, 0x2001, 4791),
            ipv6(17, 53),
            ipv6(6, 4791),
            ethernet(0x8808),
            ethernet(0x8100),
        ] {
            assert_eq!(kept(&frame), 1000, "{frame:02x?}");
        }
    }
}
