//! Training steps over time: how long each took, beyond the usual duration by cause, and how long the
//! ranks waited for a late one.

use super::axis::{self, Axis, percent, rectangle};
use super::bar::{self, Bar, Bars};
use super::cause::{self, Part};
use super::iteration_table;
use super::markup::{Element, Markup};
use super::page::{Page, moment};
use crate::export::text::iteration_story;
use crate::export::text::job_iterations::JobIterations;
use crate::export::text::quantity::{counted, duration};
use railscope_core::report::iterations::IterationReport;

/// Jobs shown.
const JOBS: usize = 4;

/// Verdicts with a strip.
const STRIPS: usize = 4;

/// Training steps described in words.
const DESCRIBED: usize = 3;

/// Heights of the two charts in pixels.
const DURATIONS: f64 = 132.0;
const WAITS: f64 = 66.0;

/// The section.
pub(super) fn section(page: &Page<'_>) -> Option<Element> {
    let section = Element::new("section").with("id", "timeline");
    let jobs = JobIterations::of_jobs(page.report);
    if jobs.is_empty() {
        if page.report.collectives.is_empty() {
            return None;
        }
        let bars = bar::of_collectives(page);
        let note = "No training steps: the collectives follow no pattern that repeats.";
        return Some(
            section
                .child(Element::new("h2").text("Collectives over time"))
                .child(Element::new("p").class("note").text(note))
                .child(chart(page, &bars, None, "collective")),
        );
    }
    let section = section.child(Element::new("h2").text("Training steps over time"));
    let shown = jobs.iter().take(JOBS).map(|job| of_job(page, job, jobs.len() > 1));
    let left = jobs.len().saturating_sub(JOBS);
    let more =
        (left > 0).then(|| Element::new("p").class("note").text(counted(left as u64, "more job")));
    Some(section.children(shown).children(more))
}

fn of_job(page: &Page<'_>, job: &JobIterations<'_>, is_one_of_several: bool) -> Element {
    let title = is_one_of_several.then(|| {
        let of = page.names.short(&job.job.communicator);
        Element::new("h3").text(format!("Job of communicator {of}"))
    });
    let bars = bar::of_job(page, job);
    let worst = job.worst();
    let story = |one: &&IterationReport| {
        let evidence = iteration_story::evidence(one);
        let evidence = evidence.map(|evidence| Element::new("small").text(evidence));
        Element::new("li").text(iteration_story::sentence(one)).children(evidence)
    };
    let stories = worst.iter().take(DESCRIBED).map(story);
    let stories =
        (!worst.is_empty()).then(|| Element::new("ul").class("stories").children(stories));
    let summary = iteration_table::summary(job);
    Element::new("div")
        .class("job")
        .children(title)
        .child(Element::new("p").class("note").text(summary))
        .child(chart(page, &bars, job.job.median_ns, "training step"))
        .children(stories)
        .child(iteration_table::folded(job))
}

/// Both charts above one axis.
fn chart(page: &Page<'_>, bars: &Bars, median_ns: Option<u64>, what: &'static str) -> Element {
    let longest = bars.all.iter().map(|bar| bar.length_ns).max().unwrap_or(0);
    let waited = bars.all.iter().map(Bar::waited_ns).max().unwrap_or(0);
    let axis = page.axis;
    let durations = bars.all.iter().map(|bar| duration_bar(axis, bar, median_ns, longest));
    let label = format!(
        "{}, the longest {}; the table below has the figures",
        counted(bars.all.len() as u64, what),
        duration(longest)
    );
    let figure = figure(axis)
        .children(phases(page))
        .children(verdicts(page))
        .child(name("Duration", format!("up to {}", duration(longest))))
        .child(plot(DURATIONS, label, durations, median(median_ns, longest)));
    let figure = if waited > 0 {
        let stacks = bars.all.iter().filter(|bar| bar.waited_ns() > 0);
        let stacks = stacks.map(|bar| wait_bar(axis, bar, waited));
        let label = format!("Waits for a late rank by cause, at most {}", duration(waited));
        let figure =
            figure.child(name("Waits for a late rank", format!("up to {}", duration(waited))));
        figure.child(plot(WAITS, label, stacks, Markup::default()))
    } else {
        figure
    };
    let parts = bars.all.iter().flat_map(|bar| bar.excess.iter().chain(&bar.waits));
    let note = bars.note(what).map(|note| Element::new("p").class("note").text(note));
    let calm = (waited == 0).then(|| {
        let text = page.stands_still().unwrap_or("No rank held up the others.");
        Element::new("p").class("note").text(text)
    });
    figure.child(Element::new("div")).child(axis.markup()).child(
        Element::new("figcaption")
            .child(cause::legend(parts.map(|(part, _)| *part)))
            .children(note)
            .children(calm),
    )
}

/// A box of charts that share an axis, in two columns: names and charts.
pub(super) fn figure(axis: Axis) -> Element {
    Element::new("figure")
        .class("chart time")
        .with("data-start", axis.start_ns)
        .with("data-end", axis.end_ns)
}

/// The name of a chart, and what its height stands for.
pub(super) fn name(text: &str, most: String) -> Element {
    let most = (!most.is_empty()).then(|| Element::new("small").text(most));
    Element::new("div").class("name").child(Element::new("span").text(text)).children(most)
}

/// A chart.
fn plot(height: f64, label: String, bars: impl Iterator<Item = Markup>, line: Markup) -> Markup {
    let chart = Element::new("svg").class("plot").with("height", height);
    let chart = chart.with("role", "img").with("aria-label", label);
    axis::view(chart, bars.chain([line]))
}

/// When the worst verdicts held, one strip each.
fn verdicts(page: &Page<'_>) -> Option<Markup> {
    let known = page.report.verdicts.iter().filter(|one| one.is_problem()).filter_map(|one| {
        let (since_ns, until_ns) = one.since_ns.zip(one.until_ns)?;
        Some((one, page.axis.share(since_ns), page.axis.share(until_ns), since_ns, until_ns))
    });
    let known: Vec<_> = known.take(STRIPS).collect();
    let strips = known.iter().enumerate().map(|(at, (one, from, to, since_ns, until_ns))| {
        let top = at as f64 * 8.0 + 5.0;
        let text =
            format!("{} · from {} to {}", one.headline, moment(*since_ns), moment(*until_ns));
        let title = Element::new("title").text(text);
        let strip = rectangle(*from, (to - from).max(0.002), top, 6.0);
        let strip = strip.with("class", format_args!("strip {}", one.severity));
        Element::new("g").class("bar").child(title).child(strip)
    });
    let strips: Vec<Element> = strips.collect();
    let height = strips.len() * 8 + 6;
    let label = counted(strips.len() as u64, "verdict");
    let chart = Element::new("svg").class("phases").with("height", height).with("role", "img");
    let chart = chart.with("aria-label", format!("When {label} held"));
    let mut both: Markup = name("Verdicts", String::new()).into();
    let is_some = !strips.is_empty();
    both.push(axis::view(chart, strips));
    is_some.then_some(both)
}

/// A bar's place, with room for a gap.
fn place(axis: Axis, bar: &Bar) -> (f64, f64) {
    let (from, to) = (axis.share(bar.start_ns), axis.share(bar.end_ns));
    (from, (to - from).max(0.0005))
}

fn duration_bar(axis: Axis, bar: &Bar, median_ns: Option<u64>, longest: u64) -> Markup {
    let (x, width) = place(axis, bar);
    let height_of = |ns: u64| ns as f64 / longest.max(1) as f64 * (DURATIONS - 4.0);
    let usual = bar.length_ns.saturating_sub(bar.excess_ns());
    let mut top = DURATIONS - height_of(usual);
    let usual = rectangle(x, width, top, height_of(usual)).class("usual");
    let mut shapes = vec![Markup::from(usual)];
    for (part, ns) in &bar.excess {
        let height = height_of(*ns);
        top -= height;
        shapes.push(part.painted(&rectangle(x, width, top, height)));
    }
    let stands_out = median_ns.is_some() && bar.excess_ns() > 0;
    titled(bar, shapes, if stands_out { "bar odd" } else { "bar" })
}

fn wait_bar(axis: Axis, bar: &Bar, most: u64) -> Markup {
    let (x, width) = place(axis, bar);
    let mut top = WAITS;
    let mut shapes = Vec::new();
    for (part, ns) in &bar.waits {
        let height = *ns as f64 / most.max(1) as f64 * (WAITS - 4.0);
        top -= height;
        shapes.push(part.painted(&rectangle(x, width, top, height)));
    }
    titled(bar, shapes, "bar")
}

/// `shapes` with the bar's lines, which browsers show when it is pointed at.
fn titled(bar: &Bar, shapes: Vec<Markup>, class: &'static str) -> Markup {
    let waits = bar
        .waits
        .iter()
        .map(|(part, ns): &(Part, u64)| format!("{} waited: {}", duration(*ns), part.name()));
    let more = if bar.waits.len() > 1 { waits.collect() } else { Vec::new() };
    let lines: Vec<&str> = bar.lines.iter().chain(&more).map(String::as_str).collect();
    let title = Element::new("title").text(lines.join(" · "));
    Element::new("g").class(class).child(title).children(shapes).into()
}

fn median(median_ns: Option<u64>, longest: u64) -> Markup {
    let Some(median_ns) = median_ns else { return Markup::default() };
    let y = DURATIONS - median_ns as f64 / longest.max(1) as f64 * (DURATIONS - 4.0);
    let line = Element::new("line").class("median").with("x1", "0%").with("x2", "100%");
    let line = line.with("y1", format!("{y:.1}")).with("y2", format!("{y:.1}"));
    let title = format!("median {}", duration(median_ns));
    line.child(Element::new("title").text(title)).into()
}

/// The phases of the job as a strip.
fn phases(page: &Page<'_>) -> Option<Markup> {
    let all = &page.report.phases;
    if all.len() < 2 {
        return None;
    }
    let strip = all.iter().take(64).map(|one| {
        let (from, to) = (page.axis.share(one.start_ns), page.axis.share(one.end_ns));
        let text = one.phase.replace('_', " ");
        let title =
            Element::new("title").text(format!("{text}: {}", length(one.start_ns, one.end_ns)));
        let band = rectangle(from, (to - from).max(0.0005), 1.0, 16.0);
        let band = band.with("class", format_args!("phase {}", one.phase)).child(title);
        // Letters of a small font are about 1 % of the width of a wide window.
        let fits = to - from > 0.012 * text.chars().count() as f64;
        let said = fits.then(|| {
            let middle = Element::new("text").with("x", percent((from + to) / 2.0));
            middle.with("y", 13).with("text-anchor", "middle").text(text)
        });
        Element::new("g").child(band).children(said)
    });
    let chart = Element::new("svg").class("phases").with("height", 18).with("role", "img");
    let names: Vec<String> = all.iter().take(8).map(|one| one.phase.replace('_', " ")).collect();
    let chart = chart.with("aria-label", format!("Phases: {}", names.join(", ")));
    let mut both: Markup = name("Phase", String::new()).into();
    both.push(axis::view(chart, strip));
    Some(both)
}

fn length(start_ns: i64, end_ns: i64) -> String {
    duration(u64::try_from(end_ns.saturating_sub(start_ns)).unwrap_or(0))
}
