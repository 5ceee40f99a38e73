//! `docs/dcqcn.svg`: four flows meet at one port, simulated and as the fluid model has it. Drawn
//! again with `INSTA_UPDATE=always`, like the goldens.

use std::fmt::Write;
use std::path::Path;

use super::dcqcn::{LINE, MARKING, fluid, run};

const FLOWS: usize = 4;
const MILLISECONDS: u64 = 40;

/// How long the beginning is, drawn once more.
const BEGINNING: u64 = 2;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 170.0;
const LEFT: f64 = 60.0;

/// One of the diagrams, with room for its title above.
struct Diagram {
    top: f64,
    most: f64,
    svg: String,
}

impl Diagram {
    fn new(top: f64, title: &str, (most, unit): (f64, &str), milliseconds: u64) -> Self {
        let mut svg = String::new();
        let (bottom, right) = (top + HEIGHT, LEFT + WIDTH);
        writeln!(svg, r#"<text x="{LEFT}" y="{}">{title}</text>"#, top - 10.0).unwrap();
        writeln!(svg, r#"<path d="M{LEFT} {top}V{bottom}H{right}" class="axis"/>"#).unwrap();
        for tenth in [0.0, 0.5, 1.0] {
            let y = bottom - tenth * HEIGHT + 4.0;
            let value = tenth * most;
            writeln!(svg, r#"<text x="{}" y="{y}" class="n">{value}{unit}</text>"#, LEFT - 5.0)
                .unwrap();
        }
        for part in 0..=4 {
            let x = LEFT + WIDTH * f64::from(part) / 4.0;
            let time = milliseconds as f64 * f64::from(part) / 4.0;
            writeln!(svg, r#"<text x="{x}" y="{}" class="n">{time} ms</text>"#, bottom + 15.0)
                .unwrap();
        }
        Self { top, most, svg }
    }

    /// Values at equal distances over the whole width.
    fn line(&mut self, class: &str, values: impl ExactSizeIterator<Item = f64>) {
        let distance = WIDTH / (values.len() - 1) as f64;
        let points = (0_u32..).zip(values).map(|(place, value)| {
            let y = self.top + HEIGHT * (1.0 - value / self.most);
            format!("{:.0},{:.0}", LEFT + f64::from(place) * distance, y.max(self.top))
        });
        // Points of one column are drawn once.
        let mut points: Vec<_> = points.collect();
        points.dedup();
        writeln!(self.svg, r#"<polyline class="{class}" points="{}"/>"#, points.join(" ")).unwrap();
    }
}

/// What to draw of many values: one for two pixels.
fn thin<T>(values: &[T]) -> Vec<&T> {
    values.iter().step_by((2 * values.len() / WIDTH as usize).max(1)).collect()
}

fn draw() -> String {
    let simulated = run(FLOWS, MILLISECONDS);
    let model = fluid(FLOWS);
    let modelled = model.run(MILLISECONDS as f64 / 1e3);
    // The simulation is looked at every 10 us, the model every microsecond.
    let beginning = (
        thin(&simulated[..=BEGINNING as usize * 100]),
        thin(&modelled[..=BEGINNING as usize * 1000]),
    );
    let (simulated, modelled) = (thin(&simulated), thin(&modelled));
    let giga = |bps: f64| bps / 1e9;
    let kilo = |bytes: f64| bytes / 1e3;

    let title = "Rates of four flows that begin at once and share a port of 40 Gb/s";
    let mut rates = Diagram::new(30.0, title, (giga(LINE as f64), " G"), MILLISECONDS);
    for flow in 0..FLOWS {
        rates.line("sim", simulated.iter().map(|moment| giga(moment.rates_bps[flow])));
    }
    rates.line("model", modelled.iter().map(|moment| giga(moment.rate_bps)));

    let title = "Queue of the port, cut off at 200 kB; dashed: the model's fixed point";
    let mut queue = Diagram::new(260.0, title, (200.0, " kB"), MILLISECONDS);
    queue.line("sim", simulated.iter().map(|moment| kilo(moment.queue_bytes)));
    queue.line("model", modelled.iter().map(|moment| kilo(moment.queue_bytes)));
    let fixed = kilo(model.queue_bytes(model.fixed_point()));
    queue.line("fixed", [fixed; 2].into_iter());

    let title = "The same queue in the beginning";
    let mut incast = Diagram::new(490.0, title, (2000.0, " kB"), BEGINNING);
    incast.line("sim", beginning.0.iter().map(|moment| kilo(moment.queue_bytes)));
    incast.line("model", beginning.1.iter().map(|moment| kilo(moment.queue_bytes)));

    let (width, height) = (LEFT + WIDTH + 30.0, 720);
    let legend = "Grey: simulated. Red: fluid model (Zhu et al., CoNEXT 2016), delay 4 us.";
    let marking = format!(
        "Marking: none up to {} kB, then 1 % more each {} kB.",
        MARKING.kmin_bytes / 1000,
        kilo((MARKING.kmax_bytes - MARKING.kmin_bytes) as f64) * 0.01 / MARKING.pmax,
    );
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">
<style>.axis,.sim,.model,.fixed{{fill:none}}.axis{{stroke:#000}}.sim{{stroke:#999}}.model{{stroke:#c00}}.fixed{{stroke:#c00;stroke-dasharray:6}}.n{{text-anchor:end}}</style>
<rect width="100%" height="100%" fill="#fff"/>
{}{}{}<text x="{LEFT}" y="705">{legend} {marking}</text>
</svg>
"##,
        rates.svg, queue.svg, incast.svg
    )
}

#[test]
fn the_picture_of_dcqcn_is_what_the_simulation_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/dcqcn.svg");
    let drawn = draw();
    #[expect(clippy::disallowed_methods, reason = "the switch that goldens have")]
    let update = std::env::var("INSTA_UPDATE");
    if update.is_ok_and(|update| update == "always") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &drawn).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(drawn == committed, "draw {} again: INSTA_UPDATE=always", path.display());
}
