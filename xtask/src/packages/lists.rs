//! The lists of files in `collector/Cargo.toml`: the `.deb` and the `.rpm` hold the same, and removing the `.rpm`
//! leaves no folder. dpkg finds out by itself which folders are the package's.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::script::output_of;
use crate::repository::{command, root};

/// Where `stage.sh` puts files, as the lists name it.
const STAGE: &str = "../target/packages/files/";

/// Removes folders when the `.rpm` is removed.
const REMOVER: &str = "collector/packaging/rpm/post-uninstall.sh";

/// Compares the two lists.
pub(super) fn check() -> Result<()> {
    let metadata = metadata()?;
    let deb = metadata["deb"]["assets"].as_array().context("no assets of the .deb")?;
    let rpm = metadata["generate-rpm"]["assets"].as_array().context("no assets of the .rpm")?;
    let in_deb: BTreeSet<&str> = deb.iter().filter_map(|asset| staged(&asset[0])).collect();
    let in_rpm: BTreeSet<&str> = rpm.iter().filter_map(|asset| staged(&asset["source"])).collect();
    let differ: Vec<_> = in_deb.symmetric_difference(&in_rpm).collect();
    ensure!(differ.is_empty(), "in the .deb or the .rpm only: {differ:?}");
    let removed = std::fs::read_to_string(root().join(REMOVER))?;
    let removed: BTreeSet<&str> = removed.split_whitespace().collect();
    let files = rpm.iter().filter_map(|asset| asset["dest"].as_str());
    let left: Vec<_> = files.filter_map(own_folder).filter(|own| !removed.contains(own)).collect();
    ensure!(left.is_empty(), "{REMOVER} leaves {left:?}");
    Ok(())
}

/// What `collector/Cargo.toml` says to the tools that make packages.
fn metadata() -> Result<Value> {
    let manifest = ["--manifest-path", "collector/Cargo.toml"];
    let mut cargo = command("cargo");
    cargo.args(["metadata", "--offline", "--no-deps", "--format-version", "1"]).args(manifest);
    let all: Value = serde_json::from_str(&output_of(&mut cargo)?)?;
    let packages = all["packages"].as_array().context("cargo lists no packages")?;
    let railscope = packages.iter().find(|package| package["name"] == "railscope");
    Ok(railscope.context("no package railscope")?["metadata"].clone())
}

fn staged(source: &Value) -> Option<&str> {
    source.as_str()?.strip_prefix(STAGE)
}

/// The folder of a file that is railscope's own, if it has one: the uppermost of that name.
fn own_folder(file: &str) -> Option<&str> {
    const OWN: &str = "/railscope/";
    file.find(OWN).map(|start| &file[..start + OWN.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_packages_hold_the_same_files_and_leave_no_folder() {
        check().unwrap();
    }

    #[test]
    fn folders_of_files() {
        assert_eq!(
            own_folder("/usr/share/railscope/wireshark/railscope/"),
            Some("/usr/share/railscope")
        );
        assert_eq!(own_folder("/etc/railscope/collector.toml"), Some("/etc/railscope"));
        assert_eq!(own_folder("/usr/bin/railscope"), None);
    }
}
