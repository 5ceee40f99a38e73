//! Diagrams as SVG: values over time, one below the other, with a legend on top.

use std::fmt::Write;
use std::path::Path;

/// Size of one diagram's plot area, pixels.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 170.0;

/// Left edge of the plot areas: room for the vertical axis's name and values.
const LEFT: f64 = 90.0;

/// Distance between the tops of two plot areas.
const DISTANCE: f64 = HEIGHT + 75.0;

/// Height of a line of text.
const LINE: f64 = 18.0;

/// Style and legend of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pen {
    pub(super) name: &'static str,
    pub(super) style: &'static str,
    pub(super) meaning: &'static str,
}

/// A vertical axis: its name with the unit, and the value at the top.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) name: &'static str,
    pub(super) most: f64,
}

/// Values over milliseconds from the start.
#[derive(Debug)]
pub(super) struct Diagram {
    title: String,
    axis: Axis,
    milliseconds: f64,
    lines: String,
}

impl Diagram {
    pub(super) fn new(title: impl Into<String>, axis: Axis, milliseconds: f64) -> Self {
        Self { title: title.into(), axis, milliseconds, lines: String::new() }
    }

    /// Draws equidistant values over the whole width, clipped at the top.
    pub(super) fn line(&mut self, pen: Pen, values: &[f64]) {
        let distance = WIDTH / (values.len() - 1) as f64;
        // One value per two pixels is enough.
        let thin = (2 * values.len() / WIDTH as usize).max(1);
        let points = values.iter().enumerate().step_by(thin).map(|(place, value)| {
            let y = HEIGHT * (1.0 - (value / self.axis.most).min(1.0));
            format!("{:.0},{y:.0}", place as f64 * distance)
        });
        let mut points: Vec<_> = points.collect();
        points.dedup();
        let points = points.join(" ");
        writeln!(self.lines, r#"<polyline class="{}" points="{points}"/>"#, pen.name).unwrap();
    }

    /// Draws a horizontal line.
    pub(super) fn level(&mut self, pen: Pen, value: f64) {
        self.line(pen, &[value; 2]);
    }

    /// The diagram with its axes, at the origin.
    fn svg(&self) -> String {
        let Self { title, axis, milliseconds, lines } = self;
        let mut svg = format!("<text y=\"-10\">{title}</text>\n{lines}");
        writeln!(svg, r#"<path d="M0 0V{HEIGHT}H{WIDTH}" class="axis"/>"#).unwrap();
        let (middle, name) = (HEIGHT / 2.0, axis.name);
        writeln!(
            svg,
            r#"<text class="middle" transform="translate(-55 {middle}) rotate(-90)">{name}</text>"#
        )
        .unwrap();
        for part in [0.0, 0.5, 1.0] {
            let (y, value) = (HEIGHT * (1.0 - part) + 4.0, part * axis.most);
            writeln!(svg, r#"<text class="end" x="-6" y="{y}">{value}</text>"#).unwrap();
        }
        let below = HEIGHT + 16.0;
        for part in [0.0, 0.25, 0.5, 0.75, 1.0] {
            let (x, time) = (WIDTH * part, milliseconds * part);
            writeln!(svg, r#"<text class="middle" x="{x}" y="{below}">{time}</text>"#).unwrap();
        }
        let (x, y) = (WIDTH / 2.0, below + 16.0);
        writeln!(svg, r#"<text class="middle" x="{x}" y="{y}">time, ms</text>"#).unwrap();
        svg
    }
}

/// The file: legend, `notes` and diagrams.
fn document(pens: &[Pen], notes: &[String], diagrams: &[Diagram]) -> String {
    let mut body = String::new();
    let mut styles = String::new();
    let mut y = 24.0;
    for Pen { name, style, meaning } in pens {
        write!(styles, ".{name}{{{style}}}").unwrap();
        let (middle, x) = (y - 4.0, LEFT + 34.0);
        writeln!(body, r#"<path d="M{LEFT} {middle}h26" class="{name}"/>"#).unwrap();
        writeln!(body, r#"<text x="{x}" y="{y}">{meaning}</text>"#).unwrap();
        y += LINE;
    }
    for note in notes {
        writeln!(body, r#"<text x="{LEFT}" y="{y}">{note}</text>"#).unwrap();
        y += LINE;
    }
    y += 22.0;
    for diagram in diagrams {
        let svg = diagram.svg();
        writeln!(body, "<g transform=\"translate({LEFT} {y})\">\n{svg}</g>").unwrap();
        y += DISTANCE;
    }
    let (width, height) = (LEFT + WIDTH + 30.0, y - 20.0);
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">
<style>path,polyline{{fill:none}}.axis{{stroke:#000}}.end{{text-anchor:end}}.middle{{text-anchor:middle}}{styles}</style>
<rect width="100%" height="100%" fill="#fff"/>
{body}</svg>
"##
    )
}

/// Checks that `docs/{name}` is this picture. `INSTA_UPDATE=always` redraws it, as for goldens.
pub(super) fn check(name: &str, pens: &[Pen], notes: &[String], diagrams: &[Diagram]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    let drawn = document(pens, notes, diagrams);
    #[expect(clippy::disallowed_methods, reason = "the same switch as for goldens")]
    let update = std::env::var("INSTA_UPDATE");
    if update.is_ok_and(|update| update == "always") {
        std::fs::write(&path, &drawn).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        drawn == committed,
        "{} is out of date: redraw it with INSTA_UPDATE=always",
        path.display()
    );
}
