//! An answer against a label.

use super::answer::Answer;
use super::label::Label;
use crate::incident::judge::passing;

/// How right an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Nothing was named: right if the job is healthy.
    Silent,
    /// Something was named.
    Said { is_side_right: bool, is_cause_right: bool, is_place_right: bool },
    /// There is no answer, or it was refused.
    Missing,
}

/// Whose fault a class is, as coarse as a tool may be that names no cause.
fn side(class: &str) -> &str {
    match class {
        "late_rank" | "slow_receiver" | "rank_not_called" | "ranks_disagree" | "gpu_stuck"
        | "process_gone" | "process_stopped" | "host_dead" | "receiver_not_ready" => "rank",
        "loss" | "reordering" | "congestion" | "pause" | "slow_path" | "port_down"
        | "path_dead" | "queue_pair_error" => "network",
        other => other,
    }
}

impl Mark {
    pub(super) const fn is_right(self) -> bool {
        matches!(self, Self::Said { is_cause_right: true, is_place_right: true, .. })
    }

    pub(super) const fn is_said(self) -> bool {
        matches!(self, Self::Said { .. })
    }
}

/// Compares; of a healthy job, whatever is named is wrong.
pub(super) fn mark(label: &Label, answer: Option<&Answer>) -> Mark {
    let Some(answer) = answer else { return Mark::Missing };
    let Some(verdict) = &answer.verdict else { return Mark::Silent };
    let Some(class) = &label.class else {
        return Mark::Said { is_side_right: false, is_cause_right: false, is_place_right: false };
    };
    let said = || std::iter::once(verdict).chain(&answer.alternatives);
    let is_right = |said: &String| said == class || label.also_right.contains(said);
    Mark::Said {
        is_side_right: side(verdict) == side(class),
        is_cause_right: said().any(is_right),
        is_place_right: is_place(label, answer),
    }
}

fn is_place(label: &Label, answer: &Answer) -> bool {
    if !label.path.is_empty() {
        let Some(host) = &answer.host else { return false };
        let direction = answer.direction.as_deref().unwrap_or("both");
        return passing(label.ranks, host, answer.peer.as_deref(), direction) == label.path();
    }
    match (&label.host, label.rank) {
        (None, None) => answer.host.is_none() && answer.rank.is_none(),
        (host, rank) => {
            (rank.is_some() && answer.rank == rank) || (host.is_some() && answer.host == *host)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(class: Option<&str>) -> Label {
        let text = format!(
            r#"{{"schema":"railbench.label/1","incident":"1","kind":"k","seed":1,"class":{},
                "also_right":[],"hangs":false,"ranks":4,"rank":1,"host":"10.0.0.2","peer":null,
                "direction":"towards","path":[["10.0.0.1","10.0.0.2"],["10.0.0.3","10.0.0.2"]],
                "is_cut":false,"beside":null,"iterations":[],"longer":[],"cost_ns":null}}"#,
            class.map_or("null".to_owned(), |class| format!("\"{class}\""))
        );
        serde_json::from_str(&text).unwrap_or_else(|error| unreachable!("{error}"))
    }

    fn said(verdict: &str, host: &str, direction: Option<&str>) -> Answer {
        Answer {
            verdict: Some(verdict.to_owned()),
            host: Some(host.to_owned()),
            direction: direction.map(str::to_owned),
            ..Answer::default()
        }
    }

    #[test]
    fn cause_and_place_are_judged_apart() {
        let label = label(Some("loss"));
        assert!(mark(&label, Some(&said("loss", "10.0.0.2", Some("towards")))).is_right());
        let marks = [
            (said("loss", "10.0.0.2", Some("from")), [true, true, false]),
            (said("loss", "10.0.0.2", None), [true, true, false]),
            (said("congestion", "10.0.0.2", Some("towards")), [true, false, true]),
            (said("late_rank", "10.0.0.3", None), [false, false, false]),
        ];
        for (answer, [is_side_right, is_cause_right, is_place_right]) in marks {
            let wanted = Mark::Said { is_side_right, is_cause_right, is_place_right };
            assert_eq!(mark(&label, Some(&answer)), wanted, "{answer:?}");
        }
        assert_eq!(mark(&label, Some(&Answer::default())), Mark::Silent);
        assert_eq!(mark(&label, None), Mark::Missing);
    }

    #[test]
    fn whatever_is_said_of_a_healthy_job_is_wrong() {
        let alarm = mark(&label(None), Some(&said("loss", "10.0.0.2", Some("towards"))));
        assert!(alarm.is_said() && !alarm.is_right());
        assert_eq!(mark(&label(None), Some(&Answer::default())), Mark::Silent);
    }
}
