//! The program with `--nccl-log`.

use crate::cli::railscope;
use crate::golden;

const EKS: &str = "logs/eks_ofi_no_provider.log.gz";

#[test]
fn what_people_see() {
    for (name, log) in [
        ("log_eks_ofi_no_provider", EKS),
        ("log_rails", "logs/rails-2n2g2nic-2.27.5.log.gz"),
        ("log_split", "logs/split-2.27.5.log.gz"),
    ] {
        golden::check_report(name, &["--nccl-log", log]);
    }
}

#[test]
fn logs_beside_a_capture() {
    let text = railscope(["analyze", "rdmacm_rping.pcap.gz", "--nccl-log", EKS]).succeeds();
    assert!(text.contains("\nlogs/eks_ofi_no_provider.log.gz  92 NCCL lines"), "{text}");
    assert!(text.contains("\nrdmacm_rping.pcap.gz  365 frames"), "{text}");
}

#[test]
fn a_pattern_stands_for_all_files_like_it() {
    let text = railscope(["analyze", "--nccl-log", "logs/ring-*.log.gz"]).succeeds();
    assert!(text.contains("\n2 logs  "), "{text}");
    assert!(text.contains("NCCL 2.18.6, 2.30.7"), "{text}");
}

#[test]
fn logs_that_are_none() {
    for (log, message) in [
        ("no_such.log", "open log no_such.log: No such file or directory (os error 2)"),
        ("no_such*", "open log no_such*: no file matches this name or pattern"),
        ("logs", "open log logs: it is a directory; name the files in it, as in 'logs/*'"),
    ] {
        let said = railscope(["analyze", "--nccl-log", log]).fails();
        assert_eq!(said, format!("error: {message}\n"));
    }
    for (option, kind) in [("--counters", "counter file"), ("--train-log", "training log")] {
        let said = railscope(["analyze", "--nccl-log", EKS, option, "no_such.csv"]).fails();
        let missing = "No such file or directory (os error 2)";
        assert_eq!(said, format!("error: open {kind} no_such.csv: {missing}\n"));
    }
    let said = railscope(["analyze", "--nccl-log", EKS, "--nccl-log", "logs/eks*"]).fails();
    assert_eq!(said, format!("error: log {EKS} was given twice: name each file once\n"));
    let run = railscope(["analyze", "--nccl-log", "MANIFEST.toml"]);
    let hint = "no line was recognised; run the job with NCCL_DEBUG=INFO";
    assert_eq!(run.stderr, format!("warning: MANIFEST.toml: {hint}\n"));
    let said = run.warns();
    assert!(said.starts_with("● Nothing of this could be judged: no line was"), "{said}");
    assert!(!said.contains("No problem found"), "{said}");
}

#[test]
fn captures_or_logs_are_needed() {
    for command in [&["analyze"][..], &["analyze", "--train-log", "x"], &["explain", "--rank", "0"]]
    {
        let said = railscope(command.iter().copied()).fails();
        let way_out = "name captures, logs, counters, dumps or RAS answers (FILE...)";
        assert_eq!(said, format!("error: no input: {way_out}\n"));
    }
    let said = railscope(["packets"]).fails();
    assert!(said.contains("required arguments were not provided"), "{said}");
}
