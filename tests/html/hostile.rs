//! Names that a neighbour chooses: they are text, whatever they hold.

use std::fs;
use std::path::{Path, PathBuf};

use super::check;
use crate::cli::railscope;
use crate::support::fixture;

/// What would act on a page that took it for markup.
const ATTACK: &str = "\"'><script>document.title='owned'</script><img src=x onerror=alert(1)>";

/// A page whose file, hosts and warnings are hostile.
pub(super) fn page(folder: &Path) -> String {
    let name = ATTACK.replace('/', "\\");
    let capture: PathBuf = folder.join(format!("{name}\u{1b}[31m\u{202e}.pcap.gz"));
    fs::copy(fixture::path("loss1_send_bw_post.pcap.gz"), &capture).unwrap();
    let (capture, log) = (capture.to_str().unwrap(), log(folder));
    railscope(["analyze", "--format", "html", "--nccl-log", &log, capture]).warns()
}

/// A log whose host name and warning are hostile.
fn log(folder: &Path) -> String {
    let log = folder.join("nccl.log");
    let lines = [
        "<svg/onload=alert(2)>:41:41 [0] NCCL INFO NCCL version 2.27.5+cuda12.8".to_owned(),
        format!("host1:41:41 [0] misc/ibvwrap.cc:1 NCCL WARN {ATTACK}"),
    ];
    fs::write(&log, lines.join("\n")).unwrap();
    log.to_str().unwrap().to_owned()
}

#[test]
fn hostile_names_are_text() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(folder.path());
    check(&page);
    assert!(page.contains("&lt;script&gt;document.title"), "the warning is there, as text");
    assert!(page.contains("src=x onerror=alert(1)&gt;"), "and the name of the file");
    assert!(!page.contains("<script>document") && !page.contains("<svg/onload"));
    for misleading in ['\u{1b}', '\u{202e}'] {
        assert!(!page.contains(misleading), "{misleading:?}");
    }
}

#[test]
fn a_hostile_first_verdict_is_text_in_the_title() {
    let folder = tempfile::tempdir().unwrap();
    let page =
        railscope(["analyze", "--format", "html", "--nccl-log", &log(folder.path())]).warns();
    check(&page);
    let title = page.split("<title>").nth(1).unwrap().split("</title>").next().unwrap();
    assert!(title.contains("&lt;script&gt;document.title"), "{title}");
}
