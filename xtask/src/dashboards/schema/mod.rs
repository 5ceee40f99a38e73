//! `cargo xtask dashboards --types`: the boards against Grafana's own types.
//!
//! Twice: TypeScript compiles each board as a value of the types in npm's `@grafana/schema`, for each
//! major release of Grafana, with the options of every panel against those of its plugin; and the
//! Python package `grafana-foundation-sdk` reads each board and writes it again without a loss.

mod fetch;
mod typescript;

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::dashboards::board;
use crate::dashboards::file::path;
use crate::dashboards::model::dashboard::Dashboard;
use crate::repository::{command, root};

pub(crate) use self::fetch::{folder, missing, packages};

/// Fetches what is missing, and compares all boards.
pub(crate) fn check() -> Result<()> {
    packages()?;
    let boards = board::all();
    for release in fetch::RELEASES {
        typescript::check(&boards, release)?;
        println!("{} boards compile against @grafana/schema {}", boards.len(), release.version);
    }
    for sdk in fetch::SDKS {
        round_trip(&boards, &folder().join(sdk.folder))?;
        println!("{} boards survive grafana-foundation-sdk {}", boards.len(), sdk.version);
    }
    Ok(())
}

/// Reads and writes boards with the SDK in a folder.
fn round_trip(boards: &[Dashboard], sdk: &Path) -> Result<()> {
    let script = root().join("xtask/src/dashboards/schema/round_trip.py");
    let mut python = command("python3");
    python.env("PYTHONPATH", sdk).arg(script).args(boards.iter().map(path));
    let output = python.output().context("start python3")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "boards change in the SDK:\n{said}{complaint}");
    Ok(())
}
