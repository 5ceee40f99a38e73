//! Faults on which alerts must fire, and jobs on which none may.

/// A job or fault on hosts with one agent each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) hosts: usize,
    pub(super) trouble: Trouble,
    /// Alerts that must fire.
    pub(super) alerts: &'static [&'static str],
    /// Alerts that follow from the same fault and may fire.
    pub(super) may: &'static [&'static str],
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// A job of the driver with these options, which have the fault.
    Job(&'static str),
    /// A job of which a rank freezes.
    Freeze(&'static str, usize),
    /// NIC counters of a host that pauses its switch, flaps, loses packets and sends no CNP.
    Counters,
    /// The agent of a host ends.
    AgentEnds,
    /// The agent of a host finds nothing to look at.
    AgentIsBlind,
}

/// Each alert's fault.
pub(super) const FAULTS: &[Case] = &[
    Case {
        name: "late rank",
        hosts: 3,
        trouble: Trouble::Job(
            "--iterations 500 --buckets 1MiB --compute 60ms --jitter 2ms \
             --straggler rank=1,delay=40ms",
        ),
        alerts: &["RailscopeRankLate"],
        may: &[],
    },
    Case {
        name: "loss of 1 %",
        hosts: 3,
        trouble: Trouble::Job(
            "--iterations 500 --buckets 1MiB --compute 60ms --loss edge=0-1,share=1%",
        ),
        alerts: &["RailscopePacketLoss"],
        // The path of a rank holds up the job.
        may: &["RailscopeRankLate"],
    },
    Case {
        name: "sockets",
        hosts: 2,
        trouble: Trouble::Job("--iterations 800 --buckets 1MiB --compute 60ms --socket-fallback"),
        alerts: &["RailscopeSocketTransport"],
        may: &[],
    },
    Case {
        name: "frozen rank",
        hosts: 4,
        trouble: Trouble::Freeze(
            "--iterations 1000 --buckets 512KiB --compute 60ms --timeout 120s",
            2,
        ),
        alerts: &["RailscopeHang"],
        // Its peers retransmit to it until they give up.
        may: &["RailscopePacketLoss"],
    },
    Case {
        name: "NIC counters: pause, flaps, loss, no CNP",
        hosts: 3,
        trouble: Trouble::Counters,
        alerts: &[
            "RailscopePauseStorm",
            "RailscopeLinkFlap",
            "RailscopePacketLoss",
            "RailscopeCongestionWithoutCnp",
        ],
        may: &[],
    },
    Case {
        name: "agent gone",
        hosts: 2,
        trouble: Trouble::AgentEnds,
        alerts: &["RailscopeAgentDown"],
        may: &[],
    },
    Case {
        name: "agent blind",
        hosts: 2,
        trouble: Trouble::AgentIsBlind,
        alerts: &["RailscopeAgentBlind"],
        may: &[],
    },
];

/// Jobs without a fault, which take turns.
pub(super) const CLEAN: &[Case] = &[
    clean("clean, 3 hosts", 3, "--iterations 250 --buckets 1MiB --compute 60ms --jitter 5ms"),
    clean("clean, 4 hosts", 4, "--iterations 200 --buckets 512KiB --compute 60ms --jitter 5ms"),
    clean(
        "clean, 2 hosts",
        2,
        "--iterations 250 --buckets 1MiB,256KiB --compute 60ms --jitter 2ms",
    ),
    clean("clean, 6 hosts", 6, "--iterations 100 --buckets 256KiB --compute 120ms --jitter 5ms"),
];

const fn clean(name: &'static str, hosts: usize, job: &'static str) -> Case {
    Case { name, hosts, trouble: Trouble::Job(job), alerts: &[], may: &[] }
}
