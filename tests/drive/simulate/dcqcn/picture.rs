//! `docs/dcqcn.svg` and `docs/incast.svg`: the simulation beside the fluid model.

use super::diagram::{Axis, Diagram, Pen, check};
use super::incast::PUBLISHED;
use super::steady::MARKING;
use super::{Bottleneck, EcnMarking, LINE};

const SIMULATED: Pen = Pen { name: "sim", style: "stroke:#888", meaning: "simulated" };
const MODEL: Pen = Pen {
    name: "model",
    style: "stroke:#c00",
    meaning: "fluid model: Zhu et al., SIGCOMM 2015, section 5.1, and CoNEXT 2016, section 3.1",
};
const FIXED: Pen = Pen {
    name: "fixed",
    style: "stroke:#c00;stroke-dasharray:6",
    meaning: "fixed point of the model",
};
const THRESHOLD: Pen = Pen {
    name: "threshold",
    style: "stroke:#06c;stroke-dasharray:2 3",
    meaning: "Kmin and Kmax of the port: between them it marks",
};

fn giga(bps: f64) -> f64 {
    bps / 1e9
}

fn kilo(bytes: f64) -> f64 {
    bytes / 1e3
}

/// The port's marking as text.
fn marking(marking: EcnMarking) -> String {
    let EcnMarking { kmin_bytes, kmax_bytes, pmax } = marking;
    let (kmin, kmax, most) = (kmin_bytes / 1000, kmax_bytes / 1000, pmax * 100.0);
    format!("Marking: none up to {kmin} kB, rising to {most} % at {kmax} kB, all above.")
}

fn shared() -> String {
    let line = LINE / 1_000_000_000;
    format!("All flows begin at once and share a port of {line} Gb/s. Parameters: SIGCOMM 2015.")
}

/// The queue over the first `milliseconds`, simulated and by the model.
fn queue(bottleneck: Bottleneck, title: &str, most: f64, milliseconds: u64) -> Diagram {
    let axis = Axis { name: "queue, kB", most };
    let mut diagram = Diagram::new(title, axis, milliseconds as f64);
    let simulated = bottleneck.simulate(milliseconds);
    let simulated: Vec<_> = simulated.iter().map(|moment| kilo(moment.queue_bytes)).collect();
    let modelled = bottleneck.fluid().run(milliseconds as f64 / 1e3);
    let modelled: Vec<_> = modelled.iter().map(|moment| kilo(moment.queue_bytes)).collect();
    diagram.line(SIMULATED, &simulated);
    diagram.line(MODEL, &modelled);
    diagram
}

fn fixed_point(bottleneck: Bottleneck) -> f64 {
    let model = bottleneck.fluid();
    kilo(model.queue_bytes(model.fixed_point()))
}

#[test]
fn the_picture_of_dcqcn_is_what_the_simulation_does() {
    const MILLISECONDS: u64 = 40;
    let bottleneck = Bottleneck { flows: 4, marking: MARKING };
    let simulated = bottleneck.simulate(MILLISECONDS);
    let axis = Axis { name: "rate of a flow, Gb/s", most: giga(LINE as f64) };
    let mut rates = Diagram::new("Rates of four flows", axis, MILLISECONDS as f64);
    for flow in 0..bottleneck.flows {
        let of_flow: Vec<_> = simulated.iter().map(|moment| giga(moment.rates_bps[flow])).collect();
        rates.line(SIMULATED, &of_flow);
    }
    let modelled = bottleneck.fluid().run(MILLISECONDS as f64 / 1e3);
    let modelled: Vec<_> = modelled.iter().map(|moment| giga(moment.rate_bps)).collect();
    rates.line(MODEL, &modelled);

    let title = "Queue of the port, cut off at 200 kB";
    let mut settled = queue(bottleneck, title, 200.0, MILLISECONDS);
    settled.level(FIXED, fixed_point(bottleneck));
    let beginning = queue(bottleneck, "The same queue in the beginning", 2000.0, 2);
    let notes = [shared(), marking(MARKING)];
    check("dcqcn.svg", &[SIMULATED, MODEL, FIXED], &notes, &[rates, settled, beginning]);
}

#[test]
fn the_picture_of_an_incast_is_what_the_simulation_does() {
    const MILLISECONDS: u64 = 60;
    let [two, eight] = [2, 8].map(|flows| Bottleneck { flows, marking: PUBLISHED });
    let settled = |bottleneck, title| {
        let mut diagram = queue(bottleneck, title, 300.0, MILLISECONDS);
        diagram.level(FIXED, fixed_point(bottleneck));
        for threshold in [PUBLISHED.kmin_bytes, PUBLISHED.kmax_bytes] {
            diagram.level(THRESHOLD, kilo(threshold as f64));
        }
        diagram
    };
    let diagrams = [
        settled(two, "Queue of two senders to one, cut off at 300 kB"),
        settled(eight, "Queue of eight senders to one, cut off at 300 kB"),
        queue(eight, "The queue of eight senders in the beginning", 4000.0, 2),
    ];
    let notes = [shared(), marking(PUBLISHED)];
    check("incast.svg", &[SIMULATED, MODEL, FIXED, THRESHOLD], &notes, &diagrams);
}
