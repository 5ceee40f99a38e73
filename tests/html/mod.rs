//! Pages of `analyze --format html`: what they say, that nothing in a report can act on them, and what
//! a browser makes of them.

mod browser;
mod hostile;
mod pictures;

use crate::cli::{railscope, railscope_on};
use crate::hangs::simulated::simulate;
use crate::support::recording::Recording;

/// Largest page, in bytes: what mail servers take.
const LIMIT: usize = 2_000_000;

fn page_of(job: &str) -> String {
    railscope_on(&Recording::unpack(job), &["analyze", "--format", "html"]).warns()
}

/// Checks what holds for every page: it loads nothing, and only its own style and script can act.
fn check(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
    assert!(page.ends_with("</html>\n"));
    assert!(page.len() < LIMIT, "{} bytes", page.len());
    let policy = "default-src &#39;none&#39;; style-src &#39;sha256-";
    assert!(page.contains(policy) && !page.contains("unsafe-"), "a strict policy");
    for (element, count) in [("<script", 1), ("<style", 1), ("<main>", 1), ("<h1", 1)] {
        assert_eq!(page.matches(element).count(), count, "{element}");
    }
    let markup = without_script(page);
    // Text is escaped: each `<` begins a tag. Every second part of a tag is a quoted value.
    for tag in markup.split('<').skip(1).filter_map(|tag| tag.split('>').next()) {
        let names: Vec<&str> = tag.split('"').step_by(2).collect();
        for forbidden in [" style=", " src=", " on", "link ", "iframe", "img", "object"] {
            assert!(!names.iter().any(|part| part.contains(forbidden)), "{forbidden}: <{tag}>");
        }
        if let Some((_, link)) = tag.split_once(" href=\"") {
            assert!(link.starts_with('#'), "<{tag}>");
        }
    }
}

fn without_script(page: &str) -> String {
    let (before, rest) = page.split_once("<script>").unwrap();
    let (_, after) = rest.split_once("</script>").unwrap();
    format!("{before}{after}")
}

/// Class and what would decide, as `explain --hang` has them.
#[test]
fn a_hang_has_its_class_and_what_would_decide() {
    let folder = tempfile::tempdir().unwrap();
    simulate(folder.path(), "[[halt]]\nrank = 2\nfrom = \"120ms\"\nwhat = \"killed\"\n");
    let captures = (0..4).map(|host| folder.path().join(format!("job/host{host}.pcapng")));
    let captures: Vec<String> = captures.map(|path| path.to_str().unwrap().to_owned()).collect();
    let said = |options: &[&str]| {
        railscope(options.iter().copied().chain(captures.iter().map(String::as_str))).warns()
    };
    let hang = said(&["explain", "--hang", "--format", "json"]);
    let hang: serde_json::Value = serde_json::from_str(&hang).unwrap();
    let hang = &hang["hangs"][0];
    let class = hang["class"].as_str().unwrap();
    let page = said(&["analyze", "--format", "html"]);
    check(&page);
    let class = format!("<dt>Class</dt><dd>{class}<small>docs/hangs/{class}.md</small></dd>");
    assert!(page.contains(&class), "{class}");
    let decide = hang["would_decide"].as_str().unwrap();
    assert!(page.contains(&format!("<dt>Would decide</dt><dd>{decide}</dd>")), "{decide}");
}

#[test]
fn the_verdict_comes_first() {
    for (job, verdict) in [
        ("async-straggler-2.27.5", "Rank 2 is late in 6 of 14 training steps"),
        ("blackhole-2.27.5", "Nothing reached 10.0.0.2 (rank 1)"),
        ("async-loss1pct-2.28.9", "Packets are lost on the way to 10.0.0.3 (rank 2)"),
    ] {
        let page = page_of(job);
        check(&page);
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{job}: {text}"));
        let title = at(verdict);
        assert!(title < at("Training steps over time"), "{job}");
        assert!(page[..at("</head>")].contains(verdict), "{job}: the title of the window");
        for section in ["Who was waited for", "Ring of ranks", "Bursts", "Queue pairs"] {
            assert!(at(section) > title, "{job}: {section}");
        }
    }
}

#[test]
fn other_inputs_have_pages_too() {
    for file in ["loss1_send_bw_post.pcap.gz", "ring4_allreduce_pA.pcap.gz", "write_lat.pcap.gz"] {
        check(&railscope(["analyze", "--format", "html", file]).warns());
    }
    let log = ["analyze", "--format", "html", "--nccl-log", "logs/ring-2.18.6.log.gz"];
    check(&railscope(log).warns());
    let dumps = ["--flight-recorder", "flight_recorder/not_called/trace_*"];
    let page = railscope(["analyze", "--format", "html"].iter().chain(&dumps)).warns();
    check(&page);
    assert!(page.contains("Rank 2 never called all_reduce 4"), "the hang");
}

#[test]
fn filters_restrict_the_queue_pairs() {
    let table = |options: &[&str]| {
        let job = Recording::unpack("async-loss1pct-2.28.9");
        let arguments = [&["analyze", "--format", "html"], options].concat();
        let page = railscope_on(&job, &arguments).warns();
        check(&page);
        let (_, rest) = page.split_once("<h2>Queue pairs</h2>").unwrap();
        rest.split("<h2>").next().unwrap().matches("<tr").count()
    };
    let (all, some) = (table(&[]), table(&["--filter", "nak"]));
    assert!(1 < some && some < all, "{some} of {all}");
}
