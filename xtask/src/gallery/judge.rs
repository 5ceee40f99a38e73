//! One run of a scenario: railscope's report against the truth.

use std::net::IpAddr;

use super::report::{Finding, Iteration, Report};
use super::truth::{Expected, Truth};

/// Tolerance of a training step's start, as a share of the period.
const BOUNDARY_SHARE: f64 = 0.01;

/// The verdict on one run.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Findings that had to be reported.
    pub(super) expected: u64,
    /// Expected findings that were reported.
    pub(super) found: u64,
    /// Warnings and worse that should not have been reported.
    pub(super) false_findings: u64,
    /// Training steps in the truth.
    pub(super) iterations: u64,
    /// True training steps reported with the right start.
    pub(super) iterations_right: u64,
    /// Reported training steps that never happened.
    pub(super) false_iterations: u64,
    /// Training steps in which the scenario made a rank late.
    pub(super) stragglers: u64,
    /// Stragglers reported with the right rank and cause.
    pub(super) stragglers_right: u64,
    /// Stragglers reported in other steps.
    pub(super) false_stragglers: u64,
    /// Everything that is wrong, in words.
    pub(super) faults: Vec<String>,
}

/// Compares `report` with the jobs of `truths`.
pub(super) fn judge(report: &Report, truths: &[Truth]) -> Verdict {
    let mut verdict = Verdict::default();
    let expected: Vec<&Expected> = truths.iter().flat_map(|truth| &truth.expected).collect();
    verdict.judge_findings(&report.findings, &expected);
    let origin = report.capture.origin_ns.parse().unwrap_or(0);
    for truth in truths {
        let of_job = |one: &&Iteration| {
            truths.len() == 1 || one.communicator.as_deref() == Some(&truth.comm_hash)
        };
        let iterations: Vec<&Iteration> = report.iterations.iter().filter(of_job).collect();
        verdict.judge_iterations(&iterations, truth, origin);
    }
    verdict
}

impl Verdict {
    fn judge_findings(&mut self, findings: &[Finding], expected: &[&Expected]) {
        for expected in expected.iter().filter(|expected| !expected.is_possible) {
            self.expected += 1;
            if findings.iter().any(|finding| is_meant(finding, expected)) {
                self.found += 1;
            } else {
                self.faults.push(format!("not found: {expected:?}"));
            }
        }
        for finding in findings.iter().filter(|finding| finding.severity != "info") {
            if !expected.iter().any(|expected| is_meant(finding, expected)) {
                self.false_findings += 1;
                self.faults.push(format!("false finding: {}: {}", finding.id, finding.title));
            }
        }
    }

    fn judge_iterations(&mut self, found: &[&Iteration], truth: &Truth, origin: i64) {
        let starts: Vec<u64> = truth.iterations.values().copied().collect();
        let mut periods: Vec<u64> =
            starts.windows(2).map(|pair| pair[1].abs_diff(pair[0])).collect();
        periods.sort_unstable();
        let period = periods.get(periods.len() / 2).copied().unwrap_or(0);
        let tolerance = period as f64 * BOUNDARY_SHARE;
        let mut matched = 0;
        for (&iteration, &start) in &truth.iterations {
            self.iterations += 1;
            let off = |one: &Iteration| (origin + one.start_ns).abs_diff(start as i64);
            let Some(one) = found.iter().min_by_key(|one| off(one)) else {
                self.faults.push(format!("training step {iteration} is not found"));
                continue;
            };
            if off(one) as f64 > tolerance {
                let us = off(one) / 1000;
                self.faults.push(format!("training step {iteration} begins {us} us elsewhere"));
                continue;
            }
            matched += 1;
            self.iterations_right += 1;
            self.judge_straggler(one, iteration, truth);
        }
        // Warm-up iterations come first and are reported like any other.
        let first = starts.first().copied().unwrap_or(0);
        let warms_up = |one: &&&Iteration| {
            origin + one.start_ns < (first as i64).saturating_sub(tolerance as i64)
        };
        let measured = found.len() - found.iter().filter(warms_up).count();
        self.false_iterations += (measured as u64).saturating_sub(matched);
    }

    fn judge_straggler(&mut self, found: &Iteration, iteration: u32, truth: &Truth) {
        let reported = found.straggler.as_ref().map(|one| (one.rank, one.cause.as_str()));
        match truth.straggler(iteration).map(|one| (one.rank, one.cause.as_str())) {
            Some(late) => {
                self.stragglers += 1;
                self.stragglers_right += u64::from(reported == Some(late));
                if reported != Some(late) {
                    self.faults.push(format!(
                        "training step {iteration} (reported as {}): {reported:?}, not {late:?}",
                        found.iteration
                    ));
                }
            }
            None if reported.is_some() && !truth.stragglers.is_empty() => {
                self.false_stragglers += 1;
                self.faults
                    .push(format!("training step {iteration}: {reported:?}, but no rank was late"));
            }
            None => {}
        }
    }
}

/// Whether `finding` is the `expected` one.
fn is_meant(finding: &Finding, expected: &Expected) -> bool {
    // An address must be the finding's subject, not just one of several in its title.
    let is_at = |place: &str| match place.parse::<IpAddr>() {
        Ok(_) => finding.subject.port.as_deref() == Some(place),
        Err(_) => finding.title.contains(place),
    };
    finding.id == expected.finding
        && expected.rank.is_none_or(|rank| finding.subject.rank == Some(rank))
        && (expected.cause.is_none() || expected.cause == finding.cause)
        && expected.place.as_deref().is_none_or(is_at)
}

#[cfg(test)]
mod tests {
    use super::super::truth::Straggler;
    use super::*;

    fn report(starts: &[i64], finding: &str) -> Report {
        let iterations: Vec<_> = (0..)
            .zip(starts)
            .map(|(iteration, start)| {
                format!(
                    r#"{{"iteration":{iteration},"communicator":"0a","start_ns":{start},
                        "straggler":{{"rank":1,"cause":"compute"}}}}"#,
                )
            })
            .collect();
        let text = format!(
            r#"{{"capture":{{"origin_ns":"1000"}},"iterations":[{}],"findings":[{{"id":"{finding}",
                "severity":"warning","title":"late","cause":"compute","subject":{{"rank":1,"port":null}}}}]}}"#,
            iterations.join(",")
        );
        serde_json::from_str(&text).unwrap()
    }

    fn truth() -> Truth {
        let (finding, cause) = ("straggler".to_owned(), Some("compute".to_owned()));
        Truth {
            comm_hash: "0a".to_owned(),
            expected: vec![Expected {
                finding,
                rank: Some(1),
                cause,
                place: None,
                is_possible: false,
            }],
            stragglers: vec![Straggler { rank: 1, cause: "compute".to_owned(), first: 1, last: 1 }],
            iterations: [(0, 1000), (1, 2000), (2, 3000)].into(),
        }
    }

    #[test]
    fn what_is_right_counts() {
        let verdict = judge(&report(&[3, 1000, 2009], "straggler"), &[truth()]);
        assert_eq!((verdict.found, verdict.false_findings), (1, 0));
        assert_eq!((verdict.iterations, verdict.iterations_right), (3, 3));
        assert_eq!((verdict.stragglers, verdict.stragglers_right), (1, 1));
        assert_eq!(verdict.false_stragglers, 2);
    }

    #[test]
    fn an_address_must_be_the_subject_and_a_name_in_the_title() {
        let text = r#"{"id":"loss","severity":"warning","cause":null,
            "title":"10.0.0.1 to 10.0.0.2 over leaf0:uplink1","subject":{"rank":null,"port":"10.0.0.2"}}"#;
        let finding: Finding = serde_json::from_str(text).unwrap();
        for (place, is_right) in
            [("10.0.0.2", true), ("10.0.0.1", false), ("leaf0:uplink1", true), ("leaf1", false)]
        {
            let expected = Expected {
                finding: "loss".to_owned(),
                rank: None,
                cause: None,
                place: Some(place.to_owned()),
                is_possible: false,
            };
            assert_eq!(is_meant(&finding, &expected), is_right, "{place}");
        }
    }

    #[test]
    fn every_mistake_is_listed() {
        let verdict = judge(&report(&[0, 1011], "loss"), &[truth()]);
        assert_eq!((verdict.found, verdict.false_findings), (0, 1));
        assert_eq!((verdict.iterations_right, verdict.false_iterations), (1, 1));
        assert_eq!(verdict.faults.len(), 5, "{:?}", verdict.faults);
    }
}
