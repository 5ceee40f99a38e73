//! Lines of several processes give the same result in any interleaving; any bytes cause no panic.

use std::collections::BTreeMap;

use proptest::prelude::*;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::pipeline::{Pipeline, PipelineConfig};
use railscope_core::report::{Report, ReportContext};
use serde_json::Value;

use super::log;

/// The report on these lines as one log, without line numbers.
fn report(lines: &[&[u8]]) -> Value {
    let flow = FlowConfig { flow_capacity: 1, line_rate_bps: None, keeps_details: false };
    let mut pipeline = Pipeline::new(PipelineConfig { flow, message_capacity: None });
    let id = pipeline.add_log("log");
    for (number, line) in (1..).zip(lines) {
        pipeline.handle_log_line(id, number, line);
    }
    let report: Report = pipeline.finish(ReportContext::default());
    let mut report = serde_json::to_value(report).unwrap();
    forget_lines(&mut report);
    report
}

fn forget_lines(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("line");
            members.remove("first_line");
            members.values_mut().for_each(forget_lines);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_lines),
        _ => {}
    }
}

/// The lines of a log by the process that wrote them, in its order.
fn by_process(text: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut processes: BTreeMap<String, Vec<&[u8]>> = BTreeMap::new();
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let words = String::from_utf8_lossy(line);
        let place = words.split(' ').find(|word| word.starts_with("gpu-node")).unwrap_or("");
        let process = place.rsplit_once(':').map_or("", |(process, _)| process);
        processes.entry(process.to_owned()).or_default().push(line);
    }
    processes.into_values().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn order_between_processes_does_not_matter(order in proptest::collection::vec(any::<u8>(), 1500)) {
        let text = log("split-2.27.5.log.gz");
        let processes = by_process(&text);
        let expected = report(&processes.concat());
        let mut rest: Vec<_> = processes.iter().map(|lines| lines.iter()).collect();
        let mut mixed: Vec<&[u8]> = Vec::new();
        for choice in order {
            let at = usize::from(choice) % rest.len();
            mixed.extend(rest[at].next());
        }
        mixed.extend(rest.into_iter().flatten());
        prop_assert_eq!(report(&mixed), expected);
    }

    #[test]
    fn damaged_lines_are_no_trouble(
        line in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte: u8,
        cut: bool,
    ) {
        let text = log("ring-2.30.7.log.gz");
        let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        let mut damaged = line.get(&lines).to_vec();
        if !damaged.is_empty() {
            let at = at.index(damaged.len());
            damaged[at] = byte;
            damaged.truncate(if cut { at } else { damaged.len() });
        }
        let mut lines = lines.clone();
        *line.get_mut(&mut lines) = &damaged;
        report(&lines);
    }
}
