//! Distances, configuration space and links.

use super::*;

fn function(path: &[&str], numa: u32) -> Function {
    let path = path.iter().map(|part| (*part).to_owned()).collect();
    Function { path, numa: Some(numa), ..Function::default() }
}

#[test]
fn distances_as_nvidia_smi_calls_them() {
    let below = |parts: &[&str]| {
        let all = ["pci0000:15", "0000:15:01.0", "0000:16:00.0"].iter().chain(parts).copied();
        function(&all.collect::<Vec<_>>(), 0)
    };
    let gpu = below(&["0000:17:00.0", "0000:18:00.0"]);
    let distance = |other: &Function| Pci::distance(&gpu, other).unwrap();
    assert_eq!(distance(&below(&["0000:17:01.0", "0000:19:00.0"])), Distance::Pix);
    assert_eq!(
        distance(&below(&["0000:17:02.0", "0000:1a:00.0", "0000:1b:00.0", "0000:1c:00.0"])),
        Distance::Pxb
    );
    assert_eq!(
        distance(&function(&["pci0000:15", "0000:15:03.0", "0000:30:00.0"], 0)),
        Distance::Phb
    );
    assert_eq!(
        distance(&function(&["pci0000:40", "0000:40:01.0", "0000:41:00.0"], 0)),
        Distance::Node
    );
    assert_eq!(
        distance(&function(&["pci0000:c0", "0000:c0:01.0", "0000:c1:00.0"], 1)),
        Distance::Sys
    );
    assert_eq!(Pci::distance(&gpu, &Function::default()), None);
}

#[test]
fn configuration_space_is_read_as_far_as_it_goes() {
    let mut config = vec![0_u8; 4096];
    config[0x34] = 0x60;
    config[0x60] = 0x10;
    // Device control: relaxed ordering, read requests of 4096 bytes.
    config[0x68] = 0x10;
    config[0x69] = 0x50;
    // Extended: advanced error reporting at 0x100, access control services at 0x148.
    config[0x100..0x104].copy_from_slice(&[0x01, 0, 0x81, 0x14]);
    config[0x148..0x14c].copy_from_slice(&[0x0d, 0, 0x01, 0]);
    config[0x14e] = 0x1d;
    let found = config_space(&config);
    assert_eq!(
        found,
        ConfigSpace {
            max_read_request: Some(4096),
            relaxed_ordering: Some(true),
            redirects: Some(true)
        }
    );
    config[0x14e] = 0x11;
    assert_eq!(config_space(&config).redirects, Some(false));
    // Others than root see 64 bytes.
    assert_eq!(config_space(&config[..64]), ConfigSpace::default());
    // A list that leads back to itself ends.
    config[0x61] = 0x60;
    config_space(&config);
    config_space(&[0xff; 4096]);
}

#[test]
fn links_carry_what_their_line_code_leaves() {
    let link = |speed, width| Link { speed, width, max_speed: speed, max_width: width };
    assert_eq!(link(5.0, 8).bits_per_second(), 32e9);
    assert!((link(32.0, 16).bits_per_second() - 504.1e9).abs() < 1e9);
}
