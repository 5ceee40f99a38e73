//! The agent at its limit: more messages than it may keep shorten the window, and it says so.

use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;

use crate::support::fabric;
use crate::support::railscope::PROGRAM;

/// Some thousands of messages.
const JOB: &str = "-b 128K -e 128K -n 100 --warmup_iters 0 --check 0";

#[test]
fn a_full_window_is_shortened_and_said() {
    fabric::run("a_full_window_is_shortened_and_said", 2, |fabric| {
        let taps = ["taps.interfaces=[\"port0\"]", "otlp.interval=\"200ms\""];
        let [wide, narrow] = [131_072, 1000].map(|messages| {
            let settings = [taps[0], taps[1], &format!("window.messages={messages}")];
            Agent::start(PROGRAM, &settings)
        });
        for mut rank in fabric.drive(JOB) {
            assert!(rank.wait().unwrap().success());
        }
        let shortened = |agent: &Agent| agent.report()["health"]["link.window_shortened"].as_u64();
        eventually("the window is shortened", || shortened(&narrow).is_some());
        let metrics = narrow.get("/metrics").unwrap();
        assert!(metrics.contains("\"link.window_shortened\""), "{metrics}");
        assert_eq!(shortened(&wide), None);
        let said = |agent: Agent| agent.stop().matches("raise window.messages").count();
        assert_eq!((said(narrow), said(wide)), (1, 0));
    });
}
