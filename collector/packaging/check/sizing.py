#!/usr/bin/env python3
"""Measures the agent's memory and CPU at four sizes and at its limit, and compares them with the formula in docs/DEPLOY.md.

    sizing.py RAILSCOPE      as root; three minutes
"""

import json
import os
import signal
import subprocess
import sys
import time

# Per size: ranks of the job at this node's ports, channels, queue pairs of each connection, window.messages,
# and the job's other options. Ports rank0 and rank1 are those of the node.
SIZES = [
    (1, 1, 131072, "--iterations 60 --buckets 1MiB --compute 450ms"),
    (8, 4, 131072, "--iterations 60 --buckets 4MiB --compute 450ms"),
    (32, 8, 131072, "--iterations 25 --buckets 8MiB --compute 1500ms"),
    (8, 1, 131072, "-b 128K -e 128K -n 100000"),
    # The same job with less than it needs: the window is shorter.
    (8, 1, 16384, "-b 128K -e 128K -n 100000"),
]
LISTEN = "127.0.0.1:9474"


def formula(queue_pairs, messages):
    """MiB: the agent itself, 22 KiB a queue pair, 315 bytes a message in the window."""
    return 8 + 0.022 * queue_pairs + 0.0003 * messages


class Inside:
    """A program in the job's network namespace."""

    def __init__(self, job):
        self.job = job

    def run(self, *command, **options):
        return subprocess.run(["nsenter", f"--net=/proc/{self.job}/ns/net", "--", *command], check=True, **options)

    def start(self, *command):
        return subprocess.Popen(["nsenter", f"--net=/proc/{self.job}/ns/net", "--", *command], stderr=subprocess.DEVNULL)

    def page(self, path):
        done = subprocess.run(
            ["nsenter", f"--net=/proc/{self.job}/ns/net", "--", "curl", "-sf", f"http://{LISTEN}{path}"],
            stdout=subprocess.PIPE,
        )
        return done.stdout.decode() if done.returncode == 0 else None


def field(process, name):
    with open(f"/proc/{process}/status") as status:
        for line in status:
            if line.startswith(name):
                return int(line.split()[1])
    raise ValueError(name)


def cpu_seconds(process):
    with open(f"/proc/{process}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(railscope, channels, pairs, messages, options, seconds=40):
    environment = dict(os.environ, NCCL_IB_QPS_PER_CONNECTION=str(pairs))
    command = [railscope, "drive", "--ranks", "4", "--warmup_iters", "0", "--check", "0", "--channels", str(channels)]
    job = subprocess.Popen(
        command + options.split(), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    agent = None
    try:
        inside = Inside(job.pid)
        for _ in range(400):
            shown = subprocess.run(
                ["nsenter", f"--net=/proc/{job.pid}/ns/net", "--", "ip", "-br", "link", "show", "up"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )
            if b"rank3" in shown.stdout:
                break
            time.sleep(0.01)
        inside.run("ip", "link", "set", "dev", "lo", "up")
        agent = inside.start(
            railscope, "agent", "--set", 'taps.interfaces=["rank0", "rank1"]', "--set", f"window.messages={messages}",
            "--set", f'prometheus.listen="{LISTEN}"', "--set", "sources.calls=false",
        )
        # Its namespace outlives the job in the agent.
        inside.job = agent.pid
        while inside.page("/readyz") is None:
            time.sleep(0.1)
        begin, used, peak = time.monotonic(), cpu_seconds(agent.pid), 0
        while job.poll() is None and time.monotonic() - begin < seconds:
            peak = max(peak, field(agent.pid, "RssAnon:"))
            time.sleep(0.1)
        share = (cpu_seconds(agent.pid) - used) / (time.monotonic() - begin)
        report = json.loads(inside.page("/report.json"))
        seen = sum(sum(pair["messages"].values()) for pair in report["queue_pairs"])
        forgotten = report["health"].get("link.messages_forgotten", 0)
        return {
            "queue_pairs": len(report["queue_pairs"]),
            "seen": seen,
            "forgotten": forgotten,
            "dropped": report["health"].get("link.messages_dropped", 0),
            "kept": min(seen, messages),
            "frames": report["capture"]["roce_frames"] / (time.monotonic() - begin),
            "window": report["capture"]["duration_ns"] / 1e9,
            "peak": peak / 1024,
            "cpu": 100 * share,
        }
    finally:
        for child in (agent, job):
            if child and child.poll() is None:
                child.send_signal(signal.SIGTERM)
                try:
                    child.wait(10)
                except subprocess.TimeoutExpired:
                    child.kill()


def main():
    railscope = os.path.abspath(sys.argv[1])
    print("| queue pairs | messages kept | dropped | frames/s | memory, formula | measured | CPU, of one core |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    wrong = False
    for channels, pairs, messages, options in SIZES:
        seen = measure(railscope, channels, pairs, messages, options)
        expected = formula(seen["queue_pairs"], seen["kept"])
        print(
            f"| {seen['queue_pairs']:,} | {seen['kept']:,} | {seen['dropped']:,} | {seen['frames']:,.0f} "
            f"| {expected:.0f} MiB | {seen['peak']:.0f} MiB | {seen['cpu']:.1f} % |",
            flush=True,
        )
        # Requests and limits follow the formula: it must cover what is measured, and not by far.
        wrong |= not seen["peak"] <= expected <= 2 * seen["peak"]
    sys.exit(wrong)


if __name__ == "__main__":
    main()
