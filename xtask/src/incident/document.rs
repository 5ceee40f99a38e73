//! The part of SCORE.md about incidents.

use std::fmt::Write as _;

use super::judge::Mark;
use super::kind::Kind;
use super::{Judged, interval};

/// Its heading.
pub(crate) const HEADING: &str = "\n## Incidents\n";

const HEAD: &str = "
Whether the first verdict of `railscope analyze` names the fault of a job, on seeds that are used for nothing
else. `cargo xtask score --make` makes the jobs, judges them and writes this part; `cargo xtask incidents`
judges the seeds for development.

* **Jobs**: 2 to 8 ranks, made in virtual time; sockets and jobs that run again by the driver, in real time.
  Half of the incidents have a second, smaller fault. Of one job in three, frames are cut at 144 bytes: no
  bootstrap can be read.
* **right**: class, place and direction of the first verdict are right. A port and its only path are one place;
  of two classes that a verdict leaves, one must be right. A healthy job is right without a verdict above `info`.
* **resends**: an alert where more than 0.1 % of the packets to a port are retransmitted, as on an exporter's
  counters.
* **timeline**: training steps, ranks that begin last and slow paths from the times and sizes of flows alone,
  after LLMPrism. A late rank counts as right for both classes of ranks, a slow path for all classes of the
  network.
";

/// The part, from its heading to its end.
pub(crate) fn section(judged: &[Judged]) -> String {
    let mut text = format!("{HEADING}{HEAD}\n");
    text += "| kind | jobs | right | class | place | direction | resends | timeline |\n";
    text += "| --- | --: | --: | --: | --: | --: | --: | --: |\n";
    let (healthy, incidents): (Vec<&Judged>, Vec<&Judged>) =
        judged.iter().partition(|one| one.kind.is_healthy());
    row(&mut text, "all incidents", &incidents);
    row(&mut text, "all healthy jobs", &healthy);
    for kind in Kind::ALL {
        let of_kind: Vec<&Judged> = judged.iter().filter(|one| one.kind == kind).collect();
        row(&mut text, &format!("`{}`", kind.name()), &of_kind);
    }
    let right = |all: &[&Judged]| all.iter().filter(|one| one.mark.is_right()).count();
    let _ = write!(
        text,
        "\nFirst verdict right: {}. Healthy jobs without an alarm: {}.\n",
        interval::words(right(&incidents), incidents.len()),
        interval::words(right(&healthy), healthy.len())
    );
    text
}

fn row(text: &mut String, name: &str, judged: &[&Judged]) {
    if judged.is_empty() {
        return;
    }
    let all = judged.len();
    let count = |is: &dyn Fn(&Judged) -> bool| judged.iter().filter(|one| is(one)).count();
    let of = |mark: fn(Mark) -> bool| count(&|one| mark(one.mark));
    let _ = writeln!(
        text,
        "| {name} | {all} | {} | {} | {} | {} | {} | {} |",
        of(Mark::is_right),
        of(|mark| mark.is_class_right),
        of(|mark| mark.is_place_right),
        of(|mark| mark.is_direction_right),
        count(&|one| one.resends.is_right()),
        count(&|one| one.timeline.is_right()),
    );
}
