//! Chores of the repository: `cargo xtask --help`.

mod alerts;
mod bench;
mod boards;
mod ci;
mod clock;
mod compare;
mod dashboards;
mod driven;
mod ebpf;
mod faults;
mod fixtures;
mod folder;
mod gallery;
mod incident;
mod lab;
mod mirror;
mod packages;
mod picture;
mod rail;
mod recording;
mod repository;
mod sampled;
mod score;
mod soak;
mod sql;
mod tidy;
mod verbs;
mod waits;

use std::process::ExitCode;

use clap::Parser;

/// Chores of the railscope repository.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Chore {
    /// Check the rules of the house that are plain text: layers, names, file heads, links.
    Tidy,
    /// Run everything that a change must pass; the last lines are the test runner's summary.
    Ci,
    /// Time railscope side by side with tshark, tcpdump and capinfos on captures it makes.
    Bench(bench::Options),
    /// Run jobs with an agent a host and a Prometheus over all of them; check rules against captures.
    Boards(boards::Options),
    /// Let each alert fire in a real Prometheus and Alertmanager, and none on clean jobs.
    Alerts(alerts::Options),
    /// Count false and found differences of `railscope compare`, and how often its intervals hold the truth.
    Compare(compare::Options),
    /// Draw packets of simulated jobs as switches do; count how often estimates from them hold the truth.
    Sampled(sampled::Options),
    /// Make the Grafana boards in dashboards/.
    Dashboards(dashboards::Options),
    /// Compare what railscope says about recorded jobs with the truth.
    Score(score::Options),
    /// Run jobs of `railscope drive` and compare what railscope finds out with what they did.
    Drive(driven::Options),
    /// Build the kernel programs into the objects that railscope carries.
    Ebpf(ebpf::Options),
    /// Have system calls of an agent fail now and then: it must go on, and count what it lost.
    Faults(faults::Options),
    /// Simulate the scenarios of the gallery and compare what railscope finds with what they are about.
    Gallery(gallery::Options),
    /// Draw jobs with one main fault from seeds and judge the first verdict on each.
    Incidents(incident::Options),
    /// Build packages, an image and a chart, and check them as docs/DEPLOY.md installs them.
    Packages(packages::Options),
    /// Pack recorded jobs into tests/captures.
    Fixtures(fixtures::Options),
    /// Render the picture of the README from a run of the program.
    Picture(picture::Options),
    /// Let an agent watch jobs that come and go for hours: what it costs must stay where it is.
    Soak(soak::Options),
    /// Ask the questions of dashboards/sql about a made month of a fleet, on three engines.
    Sql(sql::Options),
    /// Run jobs with a profiler plugin in each rank: waits by packets, by the plugin, and truly.
    Waits(waits::Options),
    /// Make incidents with labels from seeds, and judge what any tool says of them: docs/railbench.md.
    Rail(rail::Options),
    /// Boot a virtual machine with Linux's soft-RoCE and run RDMA programs in it.
    Lab(lab::Options),
}

fn main() -> ExitCode {
    let outcome = match Chore::parse() {
        Chore::Tidy => tidy::run(),
        Chore::Ci => ci::run(),
        Chore::Bench(options) => bench::run(&options),
        Chore::Boards(options) => boards::run(&options),
        Chore::Alerts(options) => alerts::run(&options),
        Chore::Compare(options) => compare::run(&options),
        Chore::Sampled(options) => sampled::run(&options),
        Chore::Dashboards(options) => dashboards::run(&options),
        Chore::Score(options) => score::run(&options),
        Chore::Drive(options) => driven::run(&options),
        Chore::Ebpf(options) => ebpf::run(&options),
        Chore::Faults(options) => faults::run(&options),
        Chore::Soak(options) => soak::run(&options),
        Chore::Gallery(options) => gallery::run(&options),
        Chore::Incidents(options) => incident::run(&options),
        Chore::Packages(options) => packages::run(&options),
        Chore::Fixtures(options) => fixtures::run(&options),
        Chore::Picture(options) => picture::run(&options),
        Chore::Sql(options) => sql::run(&options),
        Chore::Waits(options) => waits::run(&options),
        Chore::Rail(options) => rail::run(&options),
        Chore::Lab(options) => lab::run(&options),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
