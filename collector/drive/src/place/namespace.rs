//! Unnamed network namespaces, joined by veth pairs and a bridge.
//!
//! The fabric is the namespace of the thread that creates it. A rank's namespace is created by a
//! thread that ends at once; an open file keeps it until the rank's process runs in it.

use std::fmt::Write;
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::thread;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

use super::batch;
use super::rank_place::{Kind, Places, RankPlace, node_name, numbered, refused};
use super::sys::{self, Identity};
use crate::{DriveError, Result};

/// Fits the largest packet with a RoCE MTU of 4096, as on real fabrics.
const MTU: u32 = 9000;

/// Name of the bridge that connects the ranks' interfaces.
const BRIDGE: &str = "fabric0";

/// A rank's interface.
const INTERFACE: &str = "eth0";

/// Rank 0's address.
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// Links without automatic addresses: they carry nothing but the job's packets.
const BRIDGE_LINES: &str = "\
link add name fabric0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0
link set dev fabric0 addrgenmode none
link set dev fabric0 up
";

/// Tests whether places of this kind work here, in namespaces of its own. The error says what
/// prevents it.
pub(super) fn probe(kind: Kind) -> std::result::Result<(), String> {
    let identity = identity(kind);
    if identity.is_none() && !geteuid().is_root() {
        return Err("only root may; --place userns needs no root".to_owned());
    }
    let lines = format!("{BRIDGE_LINES}link add name a type veth peer name b\n");
    batch::run_prepared(&lines, |command| sys::in_own_namespaces(command, identity.clone()))
}

/// The user who becomes root of a new user namespace, if one is needed.
fn identity(kind: Kind) -> Option<Identity> {
    (kind == Kind::UserNamespaces)
        .then(|| Identity::mapping(geteuid().as_raw(), getegid().as_raw()))
}

/// Creates the fabric here and a namespace per rank.
pub(super) fn make(kind: Kind, ranks: u32) -> Result<Places> {
    match identity(kind) {
        None => unshare(CloneFlags::CLONE_NEWNET).map_err(refused)?,
        Some(identity) => identity.unshare().map_err(refused)?,
    }
    batch::run(BRIDGE_LINES)?;
    let places = (0..ranks).map(place).collect::<Result<Vec<_>>>()?;
    let mut lines = String::new();
    for place in &places {
        // Writing to a String cannot fail.
        let _ = writeln!(
            lines,
            "link set dev {port} addrgenmode none\nlink set dev {port} master {BRIDGE} up",
            port = place.port
        );
    }
    batch::run(&lines)?;
    Ok(Places { kind, ranks: places, mtu: MTU, reason: None })
}

fn place(rank: u32) -> Result<RankPlace> {
    let address = numbered(FIRST, rank);
    let port = format!("rank{rank}");
    let fabric = own_path()?;
    let lines = format!(
        "link set dev lo up\n\
         link add name {INTERFACE} mtu {MTU} address {mac} type veth \
         peer name {port} mtu {MTU} netns {fabric}\n\
         link set dev {INTERFACE} addrgenmode none\n\
         addr add {address}/24 dev {INTERFACE}\n\
         link set dev {INTERFACE} up\n",
        mac = mac(rank),
    );
    // Namespaces belong to threads.
    let make = move || {
        unshare(CloneFlags::CLONE_NEWNET).map_err(refused)?;
        batch::run(&lines)?;
        sys::send_real_packets(INTERFACE)?;
        own_namespace()
    };
    let made = thread::Builder::new().spawn(make).map_err(DriveError::io("start a thread"))?;
    let namespace = made.join().map_err(|_| DriveError::Unusable("no namespace".to_owned()))??;
    Ok(RankPlace {
        address,
        interface: INTERFACE.to_owned(),
        host: node_name(rank),
        local_rank: 0,
        port,
        namespace: Some(OwnedFd::from(namespace)),
    })
}

/// A locally administered address derived from the rank, the same in every run.
fn mac(rank: u32) -> String {
    let [.., high, low] = rank.saturating_add(1).to_be_bytes();
    format!("02:00:00:00:{high:02x}:{low:02x}")
}

/// Path of the calling thread's namespace, for other processes.
fn own_path() -> Result<String> {
    let own =
        fs::read_link("/proc/thread-self").map_err(DriveError::io("read /proc/thread-self"))?;
    Ok(format!("/proc/{}/ns/net", own.display()))
}

fn own_namespace() -> Result<File> {
    let path = own_path()?;
    File::open(&path).map_err(DriveError::io(format!("open {path}")))
}
