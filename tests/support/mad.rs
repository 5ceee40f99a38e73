//! Management datagrams of the connection manager, written field by field (IBTA volume 1, sections
//! 13.4.2 and 12.6; IP addresses in private data: annex A11).

use super::roce::Roce;

/// Attribute identifiers of the connection manager's messages (IBTA volume 1, table 98).
pub const REQ: u16 = 0x0010;
pub const MRA: u16 = 0x0011;
pub const REJ: u16 = 0x0012;
pub const REP: u16 = 0x0013;
pub const RTU: u16 = 0x0014;
pub const DREQ: u16 = 0x0015;
pub const DREP: u16 = 0x0016;

pub const TRANSACTION: u64 = 0x0102_0304_0506_0708;
pub const LOCAL_ID: u32 = 0x1112_1314;
pub const REMOTE_ID: u32 = 0x2122_2324;
pub const SERVICE_ID: u64 = 0x0000_0000_0106_4c5d;
pub const CA_GUID: u64 = 0x3132_3334_3536_3738;
pub const QUEUE_KEY: u32 = 0x4142_4344;
pub const LOCAL_QPN: u32 = 0x51_5253;
pub const STARTING_PSN: u32 = 0x61_6263;
pub const PARTITION_KEY: u16 = 0xffff;
pub const LOCAL_GID: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3];
pub const REMOTE_GID: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 4, 5, 6];
pub const SOURCE_PORT: u16 = 0xd431;

/// A whole message on QP1: a UD SEND with the 256 bytes of a MAD.
pub fn message(attribute: u16) -> Roce {
    let mut mad = vec![
        1,    // base version
        0x07, // management class: communication management
        2,    // class version
        0x03, // method: Send
        0, 0, 0, 0, // status, class specific
    ];
    mad.extend(TRANSACTION.to_be_bytes());
    mad.extend(attribute.to_be_bytes());
    mad.extend([0; 6]); // reserved, attribute modifier
    assert_eq!(mad.len(), 24);
    mad.extend(match attribute {
        REQ => req(),
        REP => rep(),
        REJ => rej(),
        MRA => mra(),
        DREQ => dreq(),
        _ => ids(),
    });
    mad.resize(256, 0);
    Roce { dest_qpn: 1, source_qpn: 1, payload: mad, ..Roce::new(0x64, 0) }
}

/// The two communication identifiers that begin most messages. RTU and DREP have nothing else.
fn ids() -> Vec<u8> {
    [LOCAL_ID.to_be_bytes(), REMOTE_ID.to_be_bytes()].concat()
}

fn req() -> Vec<u8> {
    let mut bytes = LOCAL_ID.to_be_bytes().to_vec();
    bytes.extend([0; 4]);
    bytes.extend(SERVICE_ID.to_be_bytes());
    bytes.extend(CA_GUID.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(QUEUE_KEY.to_be_bytes());
    bytes.extend((LOCAL_QPN << 8 | 4).to_be_bytes()); // 4: responder resources
    bytes.extend([0, 0, 0, 5]); // initiator depth
    bytes.extend([0, 0, 0, 20 << 3 | 1]); // remote response timeout; service type RC; flow control
    bytes.extend((STARTING_PSN << 8 | 21 << 3 | 7).to_be_bytes()); // local timeout, retry count
    bytes.extend(PARTITION_KEY.to_be_bytes());
    bytes.extend([3 << 4 | 6, 15 << 4]); // path MTU 1024, RNR retries; CM retries
    assert_eq!(bytes.len(), 52);
    bytes.extend([0xff; 4]); // LIDs, of which RoCE has none
    bytes.extend(LOCAL_GID);
    bytes.extend(REMOTE_GID);
    bytes.extend([0, 0, 0, 3]); // flow label, packet rate
    bytes.extend([106, 64, 0, 18 << 3]); // traffic class, hop limit, service level, ACK timeout
    bytes.extend([0; 44]); // no alternate path
    assert_eq!(bytes.len(), 140);
    bytes.extend([0, 4 << 4]); // annex A11: version 0.0, IPv4
    bytes.extend(SOURCE_PORT.to_be_bytes());
    // An IPv4 address is in the last four bytes of its field.
    for address in [[10, 1, 2, 3], [10, 4, 5, 6]] {
        bytes.extend([0; 12]);
        bytes.extend(address);
    }
    bytes
}

fn rep() -> Vec<u8> {
    let mut bytes = ids();
    bytes.extend(QUEUE_KEY.to_be_bytes());
    bytes.extend((LOCAL_QPN << 8).to_be_bytes());
    bytes.extend([0; 4]); // local EE context
    bytes.extend((STARTING_PSN << 8).to_be_bytes());
    bytes.extend([4, 5]); // responder resources, initiator depth
    bytes.extend([15 << 3 | 1, 6 << 5]); // target ACK delay, flow control; RNR retries
    bytes.extend(CA_GUID.to_be_bytes());
    bytes
}

/// Rejects the REQ (message 0) with reason 28, consumer reject.
fn rej() -> Vec<u8> {
    [ids(), vec![0, 0, 0, 28]].concat()
}

/// Asks for more time to answer the REP (message 1): service timeout 19.
fn mra() -> Vec<u8> {
    [ids(), vec![1 << 6, 19 << 3]].concat()
}

fn dreq() -> Vec<u8> {
    [ids(), (LOCAL_QPN << 8).to_be_bytes().to_vec()].concat()
}
