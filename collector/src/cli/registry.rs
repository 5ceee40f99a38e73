//! The catalogue of metrics as a registry of semantic conventions, in the YAML that OpenTelemetry's
//! weaver reads.

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde_json::json;

use railscope_core::metrics::attribute::{self, Attribute};
use railscope_core::metrics::catalog;
use railscope_core::metrics::metric::{Instrument, Metric};

const INTRODUCTION: &str = "\
# Printed by `railscope metrics --format registry`. README.md says what it is.
groups:
";

/// Attributes that OpenTelemetry's own registry defines.
#[cfg(test)]
const OTHERS: &[&str] = &[
    "error.type",
    "network.io.direction",
    "network.type",
    "process.executable.name",
    "k8s.container.name",
    "k8s.namespace.name",
    "k8s.pod.name",
    "k8s.pod.uid",
];

/// Namespaces of the registry. OpenTelemetry has none for Slurm.
const NAMESPACES: [&str; 4] = ["rdma", "nccl", "slurm", "railscope"];

/// Attributes whose values are no closed list, with examples. All others list theirs in `about`.
const OPEN: &[(&str, &[&str])] = &[
    ("rdma.port", &["gpu-node-1/mlx5_0", "10.0.0.1"]),
    ("rdma.pfc.station", &["02:00:00:00:00:01", "switch of gpu-node-1/mlx5_0"]),
    ("rdma.priority", &["3", "all"]),
    ("rdma.dscp", &["26", "48"]),
    ("rdma.nic.driver", &["mlx5_core", "bnxt_re"]),
    ("rdma.nic.model", &["MT4129"]),
    ("rdma.nic.firmware", &["28.39.1002"]),
    ("rdma.nic.mtu", &["4200"]),
    ("rdma.nic.counter", &["rx_prio3_pause", "out_of_sequence"]),
    ("rdma.nic.measure", &["pause_received", "out_of_sequence"]),
    ("nccl.communicator.id", &["9f2c4e6d8a1b3c5d"]),
    ("nccl.rank", &["2"]),
    ("nccl.peer", &["3"]),
    ("nccl.channel", &["0"]),
    ("railscope.finding", &["stalled_collective"]),
    ("railscope.verdict", &["late_rank", "loss", "path_dead"]),
    ("railscope.verdict.alternative", &["host_dead", "process_stopped"]),
    ("railscope.reason", &["", "no permission"]),
    ("railscope.source", &["ebpf", "counters"]),
    ("railscope.device", &["eth0", "mlx5_0"]),
    ("railscope.tap", &["eth0", "node1.pcap eth0"]),
    ("railscope.health", &["calls.lost"]),
    ("railscope.part", &["agent"]),
    ("railscope.version", &["0.1.0"]),
    ("railscope.commit", &["1a67ec3"]),
    ("slurm.job.id", &["4711"]),
    ("slurm.job.name", &["llama pretrain"]),
];

/// Prints attribute groups, one a namespace, and metric groups.
pub(super) fn write(out: &mut impl Write) -> io::Result<()> {
    write!(out, "{INTRODUCTION}")?;
    let mut written = BTreeSet::new();
    for namespace in NAMESPACES {
        writeln!(out, "  - id: registry.{namespace}")?;
        writeln!(out, "    type: attribute_group")?;
        writeln!(out, "    brief: {}", json!(format!("Attributes of {namespace}.* metrics.")))?;
        writeln!(out, "    attributes:")?;
        for one in attribute::ALL {
            let is_here = one.name.split('.').next() == Some(namespace);
            // One of two uses of a name defines it.
            if is_here && written.insert(one.name) {
                write_attribute(out, one)?;
            }
        }
    }
    catalog::all().try_for_each(|metric| write_metric(out, metric))
}

fn write_attribute(out: &mut impl Write, one: &Attribute) -> io::Result<()> {
    writeln!(out, "      - id: {}", one.name)?;
    writeln!(out, "        stability: development")?;
    writeln!(out, "        brief: {}", json!(sentence(one.about)))?;
    let Some((_, examples)) = OPEN.iter().find(|(name, _)| *name == one.name) else {
        writeln!(out, "        type:")?;
        writeln!(out, "          members:")?;
        for value in one.about.split('`').skip(1).step_by(2) {
            writeln!(out, "            - id: {}", json!(value))?;
            writeln!(out, "              value: {}", json!(value))?;
            writeln!(out, "              stability: development")?;
        }
        return Ok(());
    };
    writeln!(out, "        type: string")?;
    writeln!(out, "        examples: {}", json!(examples))
}

fn write_metric(out: &mut impl Write, metric: &Metric) -> io::Result<()> {
    let Metric { name, about, .. } = metric;
    writeln!(out, "  - id: metric.{name}")?;
    writeln!(out, "    type: metric")?;
    writeln!(out, "    metric_name: {name}")?;
    writeln!(out, "    stability: development")?;
    writeln!(out, "    brief: {}", json!(sentence(about)))?;
    let instrument = match metric.instrument {
        Instrument::Counter => "counter",
        Instrument::Gauge => "gauge",
        Instrument::Histogram(_) => "histogram",
    };
    writeln!(out, "    instrument: {instrument}")?;
    writeln!(out, "    unit: {}", json!(metric.unit.ucum()))?;
    if metric.attributes.is_empty() {
        return Ok(());
    }
    writeln!(out, "    attributes:")?;
    for one in metric.attributes {
        let level = if one.is_optional { "opt_in" } else { "required" };
        writeln!(out, "      - ref: {}", one.name)?;
        writeln!(out, "        requirement_level: {level}")?;
    }
    Ok(())
}

/// With a full stop, as OpenTelemetry's registry writes it.
fn sentence(about: &str) -> String {
    format!("{about}.")
}

#[cfg(test)]
mod tests {
    use railscope_core::metrics::attribute;

    use super::{NAMESPACES, OPEN, OTHERS};

    #[test]
    fn each_attribute_lists_its_values_or_has_examples() {
        for one in attribute::ALL {
            let own = NAMESPACES.iter().any(|own| one.name.split('.').next() == Some(own));
            assert!(own != OTHERS.contains(&one.name), "{}", one.name);
            let is_open = OPEN.iter().any(|(name, _)| *name == one.name);
            assert!(!own || is_open || one.about.matches('`').count() >= 4, "{}", one.name);
        }
        for (name, _) in OPEN {
            assert!(attribute::ALL.iter().any(|one| one.name == *name), "{name}");
        }
    }
}
