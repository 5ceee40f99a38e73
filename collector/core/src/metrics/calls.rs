//! What processes of this host do: calls of NCCL, and queue pairs.

use std::collections::BTreeMap;

use super::Settings;
use super::attribute;
use super::catalog;
use super::point::Attributes;
use super::port_names;
use super::series::{SeriesTable, owner_attributes};
use crate::link::process::{CallCount, ProcessTracker};
use crate::model::queue_pair::QueuePairUser;

/// Sets the totals of all calls, and who uses queue pairs.
pub(super) fn set(series: &mut SeriesTable, settings: &Settings, processes: &ProcessTracker) {
    let mut sums: BTreeMap<Attributes, CallCount> = BTreeMap::new();
    for (function, rank, count) in processes.counts() {
        let owner = owner_attributes(settings, None, rank, None, None);
        let call = (attribute::CALL.name, function.name().to_owned());
        let sum = sums.entry(Attributes::new(owner.into_iter().chain([call]))).or_default();
        sum.calls += count.calls;
        sum.bytes = sum.bytes.saturating_add(count.bytes);
    }
    set_users(series, processes);
    for (attributes, sum) in sums {
        series.set(&catalog::CALL_COUNT, attributes.clone(), sum.calls);
        series.set(&catalog::CALL_IO, attributes, sum.bytes);
    }
}

/// Sets the number of queue pairs by user.
fn set_users(series: &mut SeriesTable, processes: &ProcessTracker) {
    series.clear(&[&catalog::QUEUE_PAIRS]);
    for (user, count) in processes.users() {
        let QueuePairUser { device, port, process, pod, pod_names, slurm_job, slurm_job_name } =
            user;
        let port = port_names::of_device(processes.host(), device, *port);
        let names = pod_names.as_ref();
        let known = [
            (attribute::PORT.name, Some(port)),
            (attribute::EXECUTABLE.name, Some(process.clone())),
            (attribute::POD.name, pod.clone()),
            (attribute::POD_NAMESPACE.name, names.map(|names| names.namespace.clone())),
            (attribute::POD_NAME.name, names.map(|names| names.pod.clone())),
            (attribute::CONTAINER_NAME.name, names.and_then(|names| names.container.clone())),
            (attribute::SLURM_JOB.name, slurm_job.map(|job| job.to_string())),
            (attribute::SLURM_JOB_NAME.name, slurm_job_name.clone()),
        ];
        let known = known.into_iter().filter_map(|(name, value)| Some((name, value?)));
        series.add(&catalog::QUEUE_PAIRS, Attributes::new(known), *count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::point::{Point, Value};
    use crate::model::process::PodNames;
    use crate::model::time::Timestamp;

    #[test]
    fn queue_pairs_have_the_names_of_their_users() {
        let user = |container: &str| QueuePairUser {
            device: "mlx5_0".to_owned(),
            port: Some(1),
            process: "python3".to_owned(),
            pod: Some("57e67067".to_owned()),
            pod_names: Some(PodNames {
                namespace: "ml".to_owned(),
                pod: "llama-3".to_owned(),
                container: Some(container.to_owned()),
            }),
            slurm_job: Some(4711),
            slurm_job_name: Some("llama pretrain".to_owned()),
        };
        let unnamed = QueuePairUser {
            pod: None,
            pod_names: None,
            slurm_job: None,
            slurm_job_name: None,
            ..user("trainer")
        };
        let mut processes = ProcessTracker::default();
        processes.set_host("node17");
        processes.observe_users([(user("trainer"), 8), (user("tests"), 2), (unnamed, 1)].into());
        let mut series = SeriesTable::default();
        set_users(&mut series, &processes);
        let time = Timestamp::from_nanos(1);
        let points = series.points(time, time);
        let attributes = |point: &Point| {
            let all = point.attributes.iter().map(|(name, value)| format!("{name}={value}"));
            all.collect::<Vec<_>>().join(" ")
        };
        let shown: Vec<_> = points.iter().map(|point| (attributes(point), &point.value)).collect();
        let of = |container: &str| {
            format!(
                "k8s.container.name={container} k8s.namespace.name=ml k8s.pod.name=llama-3 \
                 k8s.pod.uid=57e67067 process.executable.name=python3 rdma.port=node17/mlx5_0 \
                 slurm.job.id=4711 slurm.job.name=llama pretrain"
            )
        };
        // What is not known is no attribute.
        let bare = "process.executable.name=python3 rdma.port=node17/mlx5_0".to_owned();
        let expected = [(of("tests"), 2), (of("trainer"), 8), (bare, 1)];
        let expected = expected.map(|(attributes, count)| (attributes, Value::Number(count)));
        assert_eq!(
            shown,
            expected.iter().map(|(one, value)| (one.clone(), value)).collect::<Vec<_>>()
        );
    }
}
