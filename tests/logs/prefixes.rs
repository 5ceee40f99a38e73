//! Lines as pipes change them: prefixes, colours, several entries on one line, cuts.

use railscope_core::decode::nccl_log::entry::{Entry, Level, Origin, Source};
use railscope_core::decode::nccl_log::message::Message;
use railscope_core::decode::nccl_log::{clean, entries};

const ORIGIN: Origin<'_> = Origin { host: "node-1", pid: 152, tid: 386, device: Some(0) };

/// Checks the only entry of a line.
fn check(line: &str, then: impl FnOnce(&Entry<'_>)) {
    let text = clean(line.as_bytes());
    let found: Vec<Entry<'_>> = entries(&text).collect();
    let [entry] = found.as_slice() else { panic!("{line}: {found:?}") };
    then(entry);
}

#[test]
fn prefixes_of_pipes() {
    let entry = "node-1:152:386 [0] NCCL INFO Using network IB";
    for prefix in [
        "",
        "[pod/job-worker-0/pytorch] ",
        "job-worker-0 pytorch ",
        "2025-12-28T16:04:25.287000123Z ",
        "2025-12-28T16:04:25.287000123Z stdout F ",
        "12: ",
        "[1,0]<stdout>:",
        "[rank0]: ",
        "(TrainWorker pid=152, ip=10.0.0.1) ",
        "16:04:25 ",
        "Dec 28 16:04:25 node-1 slurmstepd[99]: ",
        "[2025-12-28 16:04:25] ",
        "\u{1b}[36m(TrainWorker pid=152)\u{1b}[0m ",
        "  0%|          | 0/1722 [00:00<?, ?it/s]\r",
        "{\"log\":\"",
    ] {
        let end = if prefix.starts_with('{') { "\\n\",\"stream\":\"stdout\"}" } else { "\r\n" };
        check(&format!("{prefix}{entry}{end}"), |entry| {
            assert_eq!(entry.origin, Some(ORIGIN), "{prefix}");
            assert_eq!(entry.message, Message::Network("IB"), "{prefix}");
        });
    }
}

#[test]
fn levels() {
    check("node-1:152:386 NCCL CALL ncclCommDestroy(0x1)", |entry| {
        assert_eq!((entry.level, entry.origin.unwrap().device), (Level::Call, None));
    });
    check("node-1:152:386 [-1] 12.345678 ncclSend:33 NCCL TRACE hello", |entry| {
        assert_eq!((entry.level, entry.origin.unwrap().device), (Level::Trace, Some(-1)));
        assert_eq!((entry.source, entry.text), (None, "hello"));
    });
    check("NCCL version 2.18.6+cuda12.9", |entry| {
        assert_eq!((entry.level, entry.origin), (Level::Version, None));
    });
    let text = "a line about NCCL INFOrmation and the NCCL version of the day";
    assert_eq!(entries(text).count(), 0);
}

#[test]
fn warnings_name_their_source() {
    for (place, file, line, function) in [
        ("transport/net_ib.cc:320", "transport/net_ib.cc", 320, None),
        ("./transport/net_ib.cc:472", "./transport/net_ib.cc", 472, None),
        (
            "int nccl_net_ofi_create_plugin(nccl_net_ofi_plugin_t**):259",
            "int nccl_net_ofi_create_plugin(nccl_net_ofi_plugin_t**)",
            259,
            None,
        ),
        (
            "static int nccl::ofi::Domain::open(int, const char*):12",
            "static int nccl::ofi::Domain::open(int, const char*)",
            12,
            None,
        ),
        (
            "transport/net_ib/p2p.cc:88 (ncclIbTest)",
            "transport/net_ib/p2p.cc",
            88,
            Some("ncclIbTest"),
        ),
    ] {
        let text = format!("[2025-12-28 16:04:25] node-1:152:386 [0] {place} NCCL WARN It broke");
        check(&text, |entry| {
            assert_eq!(entry.origin, Some(ORIGIN), "{place}");
            assert_eq!(entry.time, Some("2025-12-28 16:04:25"), "{place}");
            assert_eq!(entry.source, Some(Source { file, line, function }), "{place}");
            assert_eq!(entry.text, "It broke", "{place}");
        });
    }
}

#[test]
fn two_entries_on_one_line() {
    let first = "node-1:152:386 [0] NCCL INFO Using network IB";
    for second in [
        "node-1:153:400 [1] NCCL INFO Connected all rings",
        " [2025-12-28 16:04:25] node-1:153:400 [1] a.cc:1 NCCL WARN Connected all rings",
        " node-2:153:400 [1] NCCL INFO Connected all rings",
    ] {
        let line = format!("{first}{second}");
        let found: Vec<Entry<'_>> = entries(&line).collect();
        let [one, two] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((one.message, one.is_glued), (Message::Network("IB"), false));
        assert_eq!((two.origin.unwrap().pid, two.is_glued), (153, true));
        assert!(matches!(two.message, Message::Connected(_)), "{two:?}");
    }
}

#[test]
fn the_last_value_of_a_cut_list_is_left_out() {
    let trees: String = (0..60).map(|at| format!(" [{at}] {at}1/-1/-1->{at}2->{at}3")).collect();
    let line = format!("node-1:152:386 [0] NCCL INFO Trees{trees}");
    let cut = &line[..1023];
    check(cut, |entry| {
        assert!(entry.is_cut);
        let Message::Trees(trees) = entry.message else { panic!("{entry:?}") };
        let shown = cut.matches(" [").count() - 2;
        let places: Vec<_> = trees.iter().collect();
        assert_eq!(places.len(), shown, "complete lines");
        assert!(places.iter().all(|place| place.rank == place.channel * 10 + 2));
    });
    let ranks: String = (1000..1300).map(|rank| format!(" {rank}")).collect();
    let line = format!("node-1:152:386 [0] NCCL INFO Channel 00/02 :{ranks}");
    check(&line[..1022], |entry| {
        let Message::RingOrder(ring) = entry.message else { panic!("{entry:?}") };
        assert!(ring.ranks().eq((1000..1300).take(ring.ranks().count())));
    });
}
