//! What else an interface is part of: a program in its driver would drop frames of that, too.

use crate::ingest::interfaces::{self, BUILT_ON_ANOTHER, Interface};

/// Why frames must not be dropped in the driver of the interface with this index; `None` if they may.
pub(super) fn obstacle(index: u32) -> Option<String> {
    match interfaces::list() {
        Ok(all) => of(&all, index),
        Err(error) => Some(format!("what else it is part of is not known: {error}")),
    }
}

fn of(all: &[Interface], index: u32) -> Option<String> {
    let own = all.iter().find(|one| one.index == index)?;
    if matches!(own.kind.as_str(), "bond" | "team") {
        return Some(format!("it is a {}: name its ports", own.kind));
    }
    let master = all.iter().find(|one| Some(one.index) == own.master);
    if let Some(Interface { name, kind, .. }) = master
        && matches!(kind.as_str(), "bridge" | "openvswitch")
    {
        return Some(format!("it is a port of the bridge {name}, which needs frames to others"));
    }
    let is_built_on = |one: &&Interface| {
        BUILT_ON_ANOTHER.contains(&one.kind.as_str()) && one.below == Some(index)
    };
    let mut uppers = all.iter().filter(is_built_on).chain(master);
    let other = uppers.find(|one| one.address != own.address)?;
    Some(format!("{}, which is built on it, has another address", other.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_its_own_driver_and_address() {
        let one = |index, name: &str, kind: &str, address, [below, master]: [u32; 2]| Interface {
            index,
            name: name.to_owned(),
            address: vec![address],
            kind: kind.to_owned(),
            below: (below > 0).then_some(below),
            master: (master > 0).then_some(master),
            ..Interface::default()
        };
        let all = [
            one(1, "plain", "", 1, [0, 0]),
            one(2, "tagged", "", 2, [0, 0]),
            one(3, "tagged.5", "vlan", 2, [2, 0]),
            one(4, "leaf", "", 4, [0, 5]),
            one(5, "bond0", "bond", 4, [0, 0]),
            one(6, "parent", "", 6, [0, 0]),
            one(7, "macvlan0", "macvlan", 7, [6, 0]),
            one(8, "port", "", 8, [0, 9]),
            one(9, "br0", "bridge", 8, [0, 0]),
            one(10, "near", "veth", 10, [11, 0]),
            one(11, "far", "veth", 11, [10, 0]),
            one(12, "vxlan0", "vxlan", 12, [1, 0]),
            one(13, "backup", "", 13, [0, 5]),
        ];
        let obstacle = |index| of(&all, index).unwrap_or_default();
        for index in [1, 2, 4, 10, 11, 99] {
            assert_eq!(obstacle(index), "", "{index}");
        }
        assert_eq!(obstacle(5), "it is a bond: name its ports");
        assert_eq!(obstacle(6), "macvlan0, which is built on it, has another address");
        assert_eq!(obstacle(8), "it is a port of the bridge br0, which needs frames to others");
        assert_eq!(obstacle(13), "bond0, which is built on it, has another address");
    }
}
