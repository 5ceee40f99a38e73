//! What else an interface is part of: a program in its driver would drop frames of that, too.
//!
//! Linux links interfaces in sysfs as `upper_NAME` and `lower_NAME` (net/core/dev.c).

use std::fs;
use std::path::Path;

/// Why frames must not be dropped in the driver of an interface; `None` if they may.
pub(super) fn obstacle(interfaces: &Path, name: &str) -> Option<String> {
    let address = |name: &str| fs::read_to_string(interfaces.join(name).join("address")).ok();
    for entry in fs::read_dir(interfaces.join(name)).ok()?.flatten() {
        let entry = entry.file_name();
        let Some(entry) = entry.to_str() else { continue };
        if let Some(lower) = entry.strip_prefix("lower_") {
            return Some(format!("it has no driver: name {lower}, on which it is built"));
        }
        let Some(upper) = entry.strip_prefix("upper_") else { continue };
        if interfaces.join(upper).join("bridge").exists() {
            return Some(format!(
                "it is a port of the bridge {upper}, which needs frames to others"
            ));
        }
        if address(upper) != address(name) {
            return Some(format!("{upper}, which is built on it, has an address of its own"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_its_own_driver_and_address() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, address: &str, parts: &[&str]| {
            let one = folder.path().join(name);
            fs::create_dir(&one).unwrap();
            fs::write(one.join("address"), address).unwrap();
            parts.iter().for_each(|part| fs::create_dir(one.join(part)).unwrap());
        };
        make("plain", "a", &["queues"]);
        make("tagged", "b", &["upper_tagged.5"]);
        make("tagged.5", "b", &["lower_tagged"]);
        make("leaf", "c", &["upper_bond0"]);
        make("bond0", "c", &["lower_leaf", "bonding"]);
        make("parent", "d", &["upper_macvlan0"]);
        make("macvlan0", "e", &["lower_parent"]);
        make("port", "f", &["upper_br0"]);
        make("br0", "f", &["lower_port", "bridge"]);
        let obstacle = |name: &str| obstacle(folder.path(), name).unwrap_or_default();
        for name in ["plain", "tagged", "leaf", "missing"] {
            assert_eq!(obstacle(name), "", "{name}");
        }
        assert!(obstacle("bond0").contains("name leaf"));
        assert!(obstacle("tagged.5").contains("name tagged"));
        assert!(obstacle("parent").contains("macvlan0, which is built on it"));
        assert!(obstacle("port").contains("the bridge br0"));
    }
}
