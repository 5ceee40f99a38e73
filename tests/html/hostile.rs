//! Names that a neighbour chooses: they are text, whatever they hold.

use std::fs;
use std::path::PathBuf;

use super::check;
use crate::cli::railscope;
use crate::support::fixture;

/// What would act on a page that took it for markup.
const ATTACK: &str = "\"'><script>document.title='owned'</script><img src=x onerror=alert(1)>";

/// A page whose file, hosts and warnings are hostile.
pub(super) fn page(folder: &std::path::Path) -> String {
    let name = ATTACK.replace('/', "\\");
    let capture: PathBuf = folder.join(format!("{name}\u{1b}[31m\u{202e}.pcap.gz"));
    fs::copy(fixture::path("loss1_send_bw_post.pcap.gz"), &capture).unwrap();
    let log = folder.join("nccl.log");
    let lines = [
        "<svg/onload=alert(2)>:41:41 [0] NCCL INFO NCCL version 2.27.5+cuda12.8".to_owned(),
        format!("host1:41:41 [0] misc/ibvwrap.cc:1 NCCL WARN {ATTACK}"),
    ];
    fs::write(&log, lines.join("\n")).unwrap();
    let (capture, log) = (capture.to_str().unwrap(), log.to_str().unwrap());
    railscope(["analyze", "--format", "html", "--nccl-log", log, capture]).warns()
}

#[test]
fn hostile_names_are_text() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(folder.path());
    check(&page);
    let title = page.split("<title>").nth(1).unwrap().split("</title>").next().unwrap();
    assert!(title.contains("&lt;script&gt;document.title"), "the warning is there, as text");
    assert!(page.contains("src=x onerror=alert(1)&gt;"), "and the name of the file");
    assert!(!page.contains("<script>document") && !page.contains("<svg/onload"));
    for misleading in ['\u{1b}', '\u{202e}'] {
        assert!(!page.contains(misleading), "{misleading:?}");
    }
}
