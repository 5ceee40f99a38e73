//! Fabrics that spray packets: reordering everywhere is no fault where no NIC asks for anything again.

use serde_json::Value;

use crate::findings::scene::{ACK, Packet, Scene, WRITE_FIRST, WRITE_LAST, WRITE_MIDDLE};
use crate::support::fixture;
use crate::support::frame::FrameBuilder;
use crate::support::ip::Ipv4;
use crate::support::railscope::analyze;
use crate::support::roce::Roce;

/// Three queue pairs; of each message of eight packets, two pairs of packets overtake each other: IP
/// identifications tell in which order they were sent.
fn sprayed() -> Scene {
    let mut scene = Scene::default();
    for message in 0..40 {
        for to in 2..5 {
            for place in [0, 2, 1, 3, 4, 6, 5, 7] {
                let opcode = match place {
                    0 => WRITE_FIRST,
                    7 => WRITE_LAST,
                    _ => WRITE_MIDDLE,
                };
                let psn = 8 * message + place;
                let ip = Ipv4 {
                    source: [10, 0, 0, 1],
                    destination: [10, 0, 0, to],
                    identification: 1 + psn as u16,
                    ..Ipv4::default()
                };
                let roce = Roce { psn, dest_qpn: 0x100 + u32::from(to), ..Roce::new(opcode, 1024) };
                scene.frame(
                    0,
                    FrameBuilder::ethernet().ipv4(&ip).udp(49_152, 4791).roce(&roce).finish(),
                );
            }
            scene.packet(0, Packet { qpn: 0x201, ..Packet::new(to, 1, ACK, 8 * message + 7) });
        }
    }
    scene
}

fn problems(report: &Value) -> Vec<&Value> {
    let all = report["verdicts"].as_array().unwrap().iter();
    all.filter(|verdict| verdict["severity"] != "info").collect()
}

#[test]
fn sprayed_packets_are_no_warning() {
    let report = sprayed().report();
    assert_eq!(problems(&report), [&Value::Null; 0]);
    assert_eq!(report["verdicts"][0]["id"], "paths_sprayed", "{}", report["verdicts"]);
}

#[test]
fn where_packets_are_sent_again_reordering_is_a_fault() {
    let report = analyze(&[fixture::path("reorder_write_bw_post.pcap.gz")]);
    assert_eq!(problems(&report)[0]["id"], "reordering", "{}", report["verdicts"]);
}
