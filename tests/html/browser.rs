//! Pages in Chromium: the page's script runs, and nothing else does.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::{hostile, page_of};
use crate::support::require;

/// The document after its script has run, and the browser's log.
fn rendered(folder: &Path, page: &str, size: &str) -> (String, String) {
    let output = open(folder, page, size, &["--dump-dom"]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// Opens the page in a window of this size.
pub(super) fn open(folder: &Path, page: &str, size: &str, options: &[&str]) -> Output {
    let file = folder.join("page.html");
    fs::write(&file, page).unwrap();
    let mut browser = Command::new("chromium");
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]);
    browser.args(["--disable-background-networking", "--disable-component-update"]);
    browser.args(["--virtual-time-budget=3000", "--enable-logging=stderr"]).args(options);
    browser.arg(format!("--window-size={size}"));
    browser.arg(format!("--user-data-dir={}", folder.join("profile").display()));
    browser.arg(format!("file://{}", file.display())).output().unwrap()
}

#[test]
fn a_page_works_in_a_browser() {
    if !require::has("a_page_works_in_a_browser", "chromium") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let page = page_of("async-straggler-2.27.5");
    let (document, log) = rendered(folder.path(), &page, "500,900");
    assert!(document.contains("aria-label=\"Zoom in\""), "the script ran: {log}");
    assert!(!log.contains("Content Security Policy") && !log.contains("Uncaught"), "{log}");
}

#[test]
fn hostile_names_do_nothing_in_a_browser() {
    if !require::has("hostile_names_do_nothing_in_a_browser", "chromium") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let page = hostile::page(folder.path());
    let (document, log) = rendered(folder.path(), &page, "1440,900");
    let (_, title) = document.split_once("<title>").unwrap();
    assert!(title.split("</title>").next().unwrap().ends_with("- railscope"), "{log}");
    assert!(document.contains("<button"), "the page's own script ran: {log}");
    // Inline code that the policy had to refuse would have been markup.
    assert!(!log.contains("Refused to execute"), "{log}");
}
