#!/usr/bin/env python3
"""Measures the agent's memory and CPU at several sizes and at its limit, and compares them with the formula in docs/DEPLOY.md.

    sizing.py RAILSCOPE      as root; six minutes
"""

import json
import os
import signal
import subprocess
import sys
import time
from typing import NamedTuple

class Size(NamedTuple):
    """A job, and how much of it this node sees."""

    options: str
    ranks: int = 4
    # Of the job's ports, rank0 and so on, those of this node.
    ports: int = 2
    channels: int = 1
    # Queue pairs of each connection.
    pairs: int = 1
    window: str = "5m"
    messages: int = 131072


TRAINING = "--iterations 60 --buckets 1MiB --compute 450ms"
BUSY = "-b 128K -e 128K -n 100000"
SIZES = [
    Size(TRAINING),
    # Queue pairs.
    Size("--iterations 60 --buckets 4MiB --compute 450ms", channels=8, pairs=4),
    Size("--iterations 25 --buckets 8MiB --compute 1500ms", channels=32, pairs=8),
    # Ranks: elsewhere, then on this node.
    Size(TRAINING, ranks=16),
    Size(TRAINING, ranks=48),
    Size(TRAINING, ranks=16, ports=8),
    # The window: its length, then its messages.
    Size("--iterations 60 --buckets 4MiB --compute 450ms", channels=8, pairs=4, window="5s"),
    Size(BUSY, channels=8),
    # The same job with less than it needs: the window is shorter.
    Size(BUSY, channels=8, messages=16384),
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


def measure(railscope, size, seconds=40):
    environment = dict(os.environ, NCCL_IB_QPS_PER_CONNECTION=str(size.pairs))
    command = [railscope, "drive", "--ranks", str(size.ranks), "--channels", str(size.channels)]
    command += ["--warmup_iters", "0", "--check", "0"]
    job = subprocess.Popen(
        command + size.options.split(), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    agent = None
    try:
        inside = Inside(job.pid)
        last = f"rank{size.ranks - 1}".encode()
        for _ in range(2000):
            shown = subprocess.run(
                ["nsenter", f"--net=/proc/{job.pid}/ns/net", "--", "ip", "-br", "link", "show", "up"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )
            if last in shown.stdout:
                break
            time.sleep(0.01)
        inside.run("ip", "link", "set", "dev", "lo", "up")
        ports = json.dumps([f"rank{number}" for number in range(size.ports)])
        agent = inside.start(
            railscope, "agent", "--set", f"taps.interfaces={ports}",
            "--set", f"window.messages={size.messages}", "--set", f'window.length="{size.window}"',
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
        health = report["health"]
        dropped = health.get("link.messages_dropped", 0)
        # The agent keeps a message for each tap that saw it.
        recorded = sum(sum(flow["messages"].values()) for flow in report["flows"])
        kept = recorded - dropped - health.get("link.messages_forgotten", 0)
        is_full = dropped > 0 or "link.window_shortened" in health
        return {
            "queue_pairs": len(report["queue_pairs"]),
            "kept": size.messages if is_full else kept,
            "dropped": dropped,
            "frames": report["capture"]["roce_frames"] / (time.monotonic() - begin),
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
    print("| ranks, here | queue pairs | window | messages kept | dropped | frames/s | memory, formula | measured | CPU, of one core |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    wrong = False
    for size in SIZES:
        seen = measure(railscope, size)
        expected = formula(seen["queue_pairs"], seen["kept"])
        print(
            f"| {size.ranks}, {size.ports} | {seen['queue_pairs']:,} | {size.window} | {seen['kept']:,} | {seen['dropped']:,} "
            f"| {seen['frames']:,.0f} | {expected:.0f} MiB | {seen['peak']:.0f} MiB | {seen['cpu']:.1f} % |",
            flush=True,
        )
        # Requests and limits follow the formula: it must cover what is measured, and not by far.
        wrong |= not seen["peak"] <= expected <= 2 * seen["peak"]
    sys.exit(wrong)


if __name__ == "__main__":
    main()
