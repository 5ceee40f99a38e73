//! Interface and host names of pcapng appear in the report.

use super::{analyze, railscope, text, write};
use crate::support::capture_file::{Order, PcapNgFile};
use crate::support::frame::FrameBuilder;
use crate::support::ip::Ipv4;
use crate::support::roce::Roce;

const IF_NAME: u16 = 2;
const IF_SPEED: u16 = 8;

/// Two 100 Gb/s interfaces, a name for the first host, one packet on each interface.
fn capture(order: Order, host: &str) -> Vec<u8> {
    let packet = FrameBuilder::ethernet()
        .ipv4(&Ipv4::default())
        .udp(49_152, 4791)
        .roce(&Roce::new(0x04, 64))
        .finish()
        .bytes;
    let file = PcapNgFile::new(order);
    let speed = file.number(100_000_000_000);
    let interface = |name: &str| [(IF_NAME, name.as_bytes().to_vec()), (IF_SPEED, speed.clone())];
    let length = packet.len() as u32;
    file.interface(1, 0, &interface("mlx5_0"))
        .interface(1, 0, &interface("mlx5_1"))
        .names(&[(&[10, 1, 2, 3], &[host])])
        .enhanced(0, 1_700_000_000_000_000, length, &packet, &[])
        .enhanced(1, 1_700_000_000_000_100, length, &packet, &[])
        .bytes
}

#[test]
fn interfaces_line_rates_and_names() {
    let directory = tempfile::tempdir().unwrap();
    for order in [Order::Little, Order::Big] {
        let path = write(&directory, "two.pcapng", &capture(order, "gpu-17"));
        let report = analyze(&[text(&path)]);
        for (tap, name) in ["mlx5_0", "mlx5_1"].iter().enumerate() {
            assert_eq!(report["taps"][tap]["interface"], *name);
            assert_eq!(report["taps"][tap]["format"], "pcapng");
        }
        let port = &report["ports"][0];
        assert_eq!((&port["address"], &port["host"]), (&"10.1.2.3".into(), &"gpu-17".into()));
        assert_eq!(port["line_rate_bps"], 100_000_000_000_u64);
        assert_eq!(port["line_rate_source"], "capture");
        assert_eq!(report["hosts"][0]["name"], "gpu-17");
        assert!(report["bursts"].is_array(), "the line rate is known");

        let shown = railscope(["analyze", text(&path)]).succeeds();
        for part in ["mlx5_0", "mlx5_1", "gpu-17", "INTERFACE", "OF LINE RATE"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}

#[test]
fn names_cannot_steer_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(&directory, "two.pcapng", &capture(Order::Little, "gpu\x1b[2J\x07-17"));
    let shown = railscope(["analyze", text(&path)]).succeeds();
    assert!(shown.contains("gpu\u{fffd}[2J\u{fffd}-17"), "{shown}");
    assert!(!shown.contains('\x1b') && !shown.contains('\x07'), "{shown}");
}
