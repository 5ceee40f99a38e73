#!/usr/bin/env python3
"""Makes a month of a fleet: tables as railscope writes them, and what must be found in them.

Every row is a row that `railscope analyze` wrote about a simulated job, drawn at random with a seed, under
other names: hosts, ports, ranks, captures and times are the fleet's, figures and sentences are the simulator's. So a
column that railscope gets or loses is in the month, too. Times of training are stretched (STRETCH): simulated
training steps last tens of milliseconds.

Each job runs for five days on nodes drawn anew, and is captured once a day or more often. Planted are a slow node, a host
whose data loader is late now and then, a lame rail, a NIC that loses packets and fails, one that loses and has
not failed yet, one that fails without a sign, a congested job, and new firmware on a fifth of the nodes.
"""

import argparse
import datetime
import json
import pathlib
import shutil

import duckdb

SEED = 30
FIRST_DAY = datetime.date(2026, 3, 1)
CLUSTER = "made"
# Days that a job runs.
SLOT = 5
RAILS = 8
# Training steps of a capture, and seconds of `ports_per_second`.
ITERATIONS = 20
SECONDS = 10
STRETCH = 50
# The rate of the lame rail, and round trips with the new firmware, as shares.
LAME = 0.85
FIRMWARES = ("28.41.1000", "28.43.2026")
SLOWER_RTT = 1.5

TABLES = ["captures", "training_steps", "collectives", "rank_waits", "queue_pairs", "ports", "ports_per_second",
          "findings", "verdicts"]


class Plan:
    """Who is planted where."""

    def __init__(self, nodes, days, captures):
        self.nodes, self.days, self.captures = nodes, days, captures
        self.slow, self.late = nodes // 7, nodes // 3
        self.losing, self.worse, self.sudden = nodes // 2, nodes * 2 // 3, nodes * 4 // 5
        self.fails_on, self.gets_worse_on, self.sudden_on = days // 2, days * 5 // 8, days // 3
        self.loses_from = days // 4
        self.lame_rail, self.losing_rail, self.worse_rail, self.sudden_rail = 5, 2, 6, 1
        self.updated_on = days * 3 // 4

    def jobs(self):
        """Slot, number, first position and size."""
        shares = (8, 16, 16, 32, 32, 64, 64) if self.nodes >= 500 else (4, 8, 8, 16, 16)
        sizes = [max(2, self.nodes // share) for share in shares]
        for slot in range(-(-self.days // SLOT)):
            position = number = 0
            while position < self.nodes:
                size = min(sizes[number % len(sizes)], self.nodes - position)
                # No job of one node.
                if self.nodes - position - size < 2:
                    size = self.nodes - position
                yield slot, number, position, size
                position, number = position + size, number + 1


def node_name(node):
    return f"gpu-{node:04}"


def address(node, rail):
    return f"10.{rail}.{node // 250}.{node % 250 + 1}"


class Month:
    def __init__(self, samples, out, plan):
        self.samples, self.out, self.plan = samples, out, plan
        # One thread: the order of rows is part of the draw.
        self.database = duckdb.connect(config={"threads": 1})
        self.run("SET TimeZone = 'UTC'")
        self.run("SET partitioned_write_max_open_files = 4096")
        self.run(f"CREATE MACRO draw(n, salt, a, b, c) AS (hash({SEED}, salt, a, b, c) % n)::BIGINT")
        self.run("CREATE MACRO node_name(node) AS 'gpu-' || lpad(node::VARCHAR, 4, '0')")
        self.run("CREATE MACRO address(node, rail) AS '10.' || rail || '.' || node // 250 || '.' || node % 250 + 1")

    def run(self, query):
        return self.database.execute(query)

    def sample(self, table, kinds):
        """Rows of a table as railscope wrote them, numbered within their kind: an SQL condition each, the first
        that holds."""
        cases = " ".join(f"WHEN {condition} THEN '{kind}'" for kind, condition in kinds.items())
        files = f"{self.samples}/{table}/*/*/*/*.parquet"
        self.run(f"""
            CREATE TABLE kinds_{table} AS
            SELECT *, row_number() OVER (PARTITION BY sampled ORDER BY filename, row) - 1 AS lot
            FROM (
                SELECT * EXCLUDE (day, cluster, job, file_row_number), file_row_number AS row,
                       CASE {cases} END AS sampled
                FROM (SELECT *, job AS scenario FROM
                      read_parquet('{files}', hive_partitioning = true, filename = true, file_row_number = true))
            ) WHERE sampled IS NOT NULL""")
        counts = dict(self.run(f"SELECT sampled, count(*) FROM kinds_{table} GROUP BY sampled").fetchall())
        missing = set(kinds) - set(counts)
        assert not missing, f"the simulated jobs have no {table} of kind {missing}"

    def drawn(self, table, wanted, replaced):
        """The rows `wanted` (with `sampled`, three keys `a, b, c` of the draw, day, cluster and job), each with the
        figures of a sample; `replaced` are columns that are the fleet's own."""
        types = self.types(table)
        own = ", ".join(f"CAST({value} AS {types[column]}) AS {column}" for column, value in replaced.items())
        return f"""
            SELECT s.* EXCLUDE (scenario, filename, row, sampled, lot) REPLACE ({own}), w.day, w.cluster, w.job
            FROM (
                SELECT w.*, draw(n.rows, '{table}', w.a, w.b, w.c) AS lot
                FROM ({wanted}) w
                JOIN (SELECT sampled, count(*) AS rows FROM kinds_{table} GROUP BY sampled) n ON n.sampled = w.sampled
            ) w
            JOIN kinds_{table} s ON s.sampled = w.sampled AND s.lot = w.lot"""

    def types(self, table):
        return {name: kind for name, kind, *_ in self.run(f"DESCRIBE kinds_{table}").fetchall()}

    def stretched(self, table):
        """Columns of durations of training."""
        durations = [name for name in self.types(table) if name.endswith("_ns") and name not in ("origin_ns", "ack_rtt_p50_ns")]
        return {name: f"s.{name} * {STRETCH}" for name in durations}

    def write(self, table, query, order):
        self.run(f"""COPY (SELECT * FROM ({query}) ORDER BY day, job, {order}) TO '{self.out}/{table}'
            (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (day, cluster, job), FILENAME_PATTERN 'part-{{i}}')""")

    def make(self):
        self.fleet()
        self.training()
        self.traffic()
        self.judged()

    def fleet(self):
        plan = self.plan
        rows = ", ".join(str(job) for job in plan.jobs())
        self.run(f"CREATE TABLE jobs AS SELECT * FROM (VALUES {rows}) AS t(slot, number, first, size)")
        self.run(f"""
            CREATE TABLE members AS
            SELECT j.slot, j.number, p.node, p.position - j.first AS place, j.size
            FROM (SELECT s.slot, n.node,
                         row_number() OVER (PARTITION BY s.slot ORDER BY draw(1000000007, 'place', s.slot, n.node, 0)) - 1
                             AS position
                  FROM (SELECT DISTINCT slot FROM jobs) s, (SELECT range AS node FROM range({plan.nodes})) n) p
            JOIN jobs j ON j.slot = p.slot AND p.position >= j.first AND p.position < j.first + j.size""")
        pause = 86400 // plan.captures
        self.run(f"""
            CREATE TABLE made AS
            SELECT slot, number, size, d.range AS at_day, DATE '{FIRST_DAY}' + d.range::INTEGER AS day,
                   '{CLUSTER}' AS cluster, 'train-' || slot || '-' || number AS job,
                   substr(md5('{SEED}' || slot || ' ' || number || ' ' || d.range || ' ' || t.range), 1, 16) AS capture,
                   make_timestamptz((epoch_us((DATE '{FIRST_DAY}' + d.range::INTEGER)::TIMESTAMP)
                       + (t.range * {pause} + draw({pause} - 60, 'origin', slot, number, d.range)) * 1000000)::BIGINT)
                       AS origin
            FROM jobs JOIN range({plan.days}) d ON d.range // {SLOT} = slot CROSS JOIN range({plan.captures}) t""")
        # Who holds up a training step, if anybody: node, GPU, kind, share of training steps in per cent.
        self.run(f"""
            CREATE TABLE late AS
            SELECT m.capture, x.node, x.node % 8 AS gpu, x.sampled, x.per_cent, x.place
            FROM (
                SELECT made.capture, made.at_day, members.node, members.place,
                       CASE WHEN members.node = {plan.slow} THEN 'compute'
                            WHEN members.node = {plan.late} AND made.at_day % 3 = 0 THEN 'enqueue'
                            WHEN draw(20, 'noise', made.slot, made.number, made.at_day) = 0
                                 AND members.place = draw(members.size, 'noisy', made.slot, made.number, made.at_day)
                            THEN 'compute' END AS sampled,
                       CASE WHEN members.node = {plan.slow} THEN 40 WHEN members.node = {plan.late} THEN 20
                            ELSE 5 END AS per_cent
                FROM made JOIN members USING (slot, number)
            ) x JOIN made m USING (capture) WHERE x.sampled IS NOT NULL""")
        self.run("CREATE TABLE congested AS SELECT * FROM made WHERE slot = 0 AND number = 2")

    def training(self):
        usual = "complete AND NOT sets_up"
        self.sample("training_steps", {
            "plain": f"scenario = 'clean' AND {usual} AND NOT stands_out",
            "compute": f"scenario = 'straggler_compute' AND {usual} AND straggler_cause = 'compute'",
            "enqueue": f"scenario = 'straggler_enqueue' AND {usual} AND straggler_cause = 'enqueue'",
            "congested": f"scenario = 'incast_ecn' AND {usual}",
        })
        wanted = f"""
            SELECT m.capture AS a, i.range AS b, 0 AS c, m.day, m.cluster, m.job, m.capture, m.origin, i.range AS iteration,
                   coalesce(l.sampled, CASE WHEN g.capture IS NOT NULL THEN 'congested' ELSE 'plain' END) AS sampled,
                   l.node, l.place * 8 + l.gpu AS rank
            FROM made m CROSS JOIN range({ITERATIONS}) i
            LEFT JOIN congested g ON g.capture = m.capture
            LEFT JOIN (
                SELECT *, row_number() OVER (PARTITION BY capture, iteration ORDER BY per_cent DESC, node) AS first
                FROM (SELECT late.*, i.range AS iteration FROM late CROSS JOIN range({ITERATIONS}) i
                      WHERE draw(100, 'late', late.capture, late.node, i.range) < late.per_cent)
            ) l ON l.capture = m.capture AND l.iteration = i.range AND l.first = 1"""
        own = self.stretched("training_steps") | {
            "capture": "w.capture",
            "iteration": "w.iteration",
            "communicator": "'c' || w.capture",
            "straggler_rank": "w.rank",
            "straggler_host": "node_name(w.node)",
            "straggler_port": "address(w.node, w.rank % 8)",
            "straggler_rail": f"w.rank % {RAILS}",
            "straggler_lag_ns": f"CASE WHEN w.node IS NOT NULL THEN s.straggler_lag_ns * {STRETCH} END",
            "straggler_cause": "CASE WHEN w.node IS NOT NULL THEN s.straggler_cause END",
            "straggler_grade": "CASE WHEN w.node IS NOT NULL THEN s.straggler_grade END",
            "start_at": "w.origin",
            "end_at": "w.origin",
        }
        self.run(f"CREATE TABLE steps AS {self.drawn('training_steps', wanted, own)}")
        # One after the other.
        self.run("""
            CREATE TABLE placed AS
            SELECT capture, iteration, start_at + to_microseconds((passed // 1000)::BIGINT) AS start_at,
                   start_at + to_microseconds(((passed + duration_ns) // 1000)::BIGINT) AS end_at
            FROM (SELECT capture, iteration, start_at, duration_ns,
                         sum(duration_ns) OVER (PARTITION BY capture ORDER BY iteration) - duration_ns AS passed
                  FROM steps)""")
        self.write("training_steps", """
            SELECT t.* REPLACE (p.start_at AS start_at, p.end_at AS end_at)
            FROM steps t JOIN placed p USING (capture, iteration)""", "iteration")
        self.run("""CREATE TABLE length AS SELECT capture, sum(duration_ns)::BIGINT AS duration_ns,
            sum(straggler_lag_ns)::BIGINT AS lag_ns FROM steps GROUP BY capture""")
        self.sample("captures", {"plain": "scenario = 'clean'"})
        self.write("captures", self.drawn("captures", """
            SELECT 'plain' AS sampled, m.capture AS a, 0 AS b, 0 AS c, m.*, l.duration_ns
            FROM made m JOIN length l USING (capture)""", {
                "capture": "w.capture", "start_at": "w.origin", "origin_ns": "epoch_us(w.origin) * 1000",
                "duration_ns": "w.duration_ns", "ranks": "w.size * 8", "training_steps": str(ITERATIONS)}), "capture")
        self.sample("collectives", {"plain": "scenario = 'clean' AND straggler_rank IS NULL"})
        self.write("collectives", self.drawn("collectives", f"""
            SELECT 'plain' AS sampled, m.capture AS a, p.iteration AS b, i.range AS c, m.*, p.iteration, p.start_at,
                   p.iteration * 4 + i.range AS id
            FROM made m JOIN placed p USING (capture) CROSS JOIN range(4) i""", self.stretched("collectives") | {
                "capture": "w.capture", "id": "w.id", "communicator": "'c' || w.capture", "iteration": "w.iteration",
                "sequence": "w.id", "start_at": "w.start_at",
                "end_at": f"w.start_at + to_microseconds((s.duration_ns * {STRETCH} // 1000)::BIGINT)"}), "id")
        self.sample("rank_waits", {"plain": "scenario = 'clean'"})
        self.write("rank_waits", self.drawn("rank_waits", """
            SELECT 'plain' AS sampled, m.capture AS a, n.node AS b, g.range AS c, m.*, n.node, n.place, g.range AS gpu
            FROM made m JOIN members n USING (slot, number) CROSS JOIN range(8) g""", self.stretched("rank_waits") | {
                "capture": "w.capture", "communicator": "'c' || w.capture", "rank": "w.place * 8 + w.gpu",
                "host": "node_name(w.node)", "pid": "4000 + w.gpu",
                "bus_id": "printf('0000:%02x:00.0', 16 + w.gpu * 16)"}), "rank")

    def traffic(self):
        plan = self.plan
        self.sample("queue_pairs", {
            "lossy": "scenario = 'loss' AND role = 'data' AND retransmitted_packets >= 3",
            "marked": "scenario = 'incast_ecn' AND role = 'data' AND ce_packets > 0",
            "data": "scenario = 'clean' AND role = 'data' AND retransmitted_packets = 0",
            "control": "scenario = 'clean' AND role = 'control'",
        })
        # A ring on each rail; two channels each.
        self.run(f"""
            CREATE TABLE pairs AS
            SELECT m.*, n.node, peer.node AS peer, n.place, peer.place AS peer_place, r.range AS rail, ch.range AS channel,
                   n.node = {plan.losing} AND r.range = {plan.losing_rail}
                       AND m.at_day BETWEEN {plan.loses_from} AND {plan.fails_on} AS sends_by_losing,
                   peer.node = {plan.losing} AND r.range = {plan.losing_rail}
                       AND m.at_day BETWEEN {plan.loses_from} AND {plan.fails_on} AS takes_by_losing,
                   (n.node = {plan.worse} OR peer.node = {plan.worse}) AND r.range = {plan.worse_rail}
                       AND m.at_day >= {plan.gets_worse_on} AS by_worse
            FROM made m JOIN members n USING (slot, number)
            JOIN members peer ON peer.slot = n.slot AND peer.number = n.number AND peer.place = (n.place + 1) % n.size
            CROSS JOIN range({RAILS}) r CROSS JOIN range(2) ch""")
        data = """
            SELECT capture AS a, node * 8 + rail AS b, channel AS c, *, node AS src, peer AS dst, place AS src_place,
                   peer_place AS dst_place, 'data' AS carries,
                   CASE WHEN sends_by_losing OR takes_by_losing OR by_worse
                             OR draw(5000, 'lost', job || at_day, node * 8 + rail, channel) = 0 THEN 'lossy'
                        WHEN capture IN (SELECT capture FROM congested)
                             OR draw(500, 'marked', capture, node * 8 + rail, channel) = 0 THEN 'marked'
                        ELSE 'data' END AS sampled
            FROM pairs"""
        control = """
            SELECT capture AS a, node * 8 + rail AS b, 2 + channel AS c, *, peer AS src, node AS dst,
                   peer_place AS src_place, place AS dst_place, 'control' AS carries, 'control' AS sampled
            FROM pairs"""
        new = f"(w.src % 5 = 0 AND w.at_day >= {plan.updated_on})"
        self.write("queue_pairs", self.drawn("queue_pairs", f"{data} UNION ALL {control}", {
            "capture": "w.capture", "communicator": "'c' || w.capture",
            "id": "(w.place * 8 + w.rail) * 4 + w.c",
            "src": "address(w.src, w.rail)", "src_host": "node_name(w.src)",
            "dst": "address(w.dst, w.rail)", "dst_host": "node_name(w.dst)",
            "rail": "w.rail", "rank": "w.src_place * 8 + w.rail", "peer_rank": "w.dst_place * 8 + w.rail",
            "channel": "w.channel * 8 + w.rail",
            "first_at": "w.origin", "last_at": "w.origin + INTERVAL 30 SECOND",
            "rate_bps": f"(s.rate_bps * CASE WHEN w.rail = {plan.lame_rail} THEN {LAME} ELSE 1 END)::BIGINT",
            "ack_rtt_p50_ns": f"(s.ack_rtt_p50_ns * CASE WHEN {new} THEN {SLOWER_RTT} ELSE 1 END)::BIGINT",
        }), "id")
        self.run(f"""
            CREATE TABLE seen_ports AS
            SELECT m.*, n.node, n.place, r.range AS rail,
                   CASE WHEN n.node % 5 = 0 AND m.at_day >= {plan.updated_on} THEN '{FIRMWARES[1]}'
                        ELSE '{FIRMWARES[0]}' END AS firmware
            FROM made m JOIN members n USING (slot, number) CROSS JOIN range({RAILS}) r""")
        self.sample("ports", {"plain": "scenario = 'clean'"})
        own = {"capture": "w.capture", "address": "address(w.node, w.rail)", "host": "node_name(w.node)",
               "device": "'mlx5_' || w.rail", "rail": "w.rail"}
        self.write("ports", self.drawn("ports", """
            SELECT 'plain' AS sampled, capture AS a, node AS b, rail AS c, * FROM seen_ports""", own | {
                "firmware": "w.firmware",
                "mac": "printf('02:%02x:%02x:%02x:00:01', w.rail, w.node // 256, w.node % 256)"}), "host, rail")
        self.sample("ports_per_second", {"plain": "scenario = 'clean'"})
        self.write("ports_per_second", self.drawn("ports_per_second", f"""
            SELECT 'plain' AS sampled, capture AS a, node * 8 + rail AS b, i.range AS c, *, i.range AS second
            FROM seen_ports CROSS JOIN range({SECONDS}) i""", own | {
                "second": "w.second", "start_at": "w.origin + to_seconds(w.second::BIGINT)"}), "host, rail, second")

    def judged(self):
        plan = self.plan
        self.sample("verdicts", {
            "compute": "scenario = 'straggler_compute' AND id = 'late_rank'",
            "enqueue": "scenario = 'straggler_enqueue' AND id = 'late_rank'",
            "congested": "scenario = 'incast_ecn' AND id = 'congestion'",
            "lossy": "scenario = 'loss' AND id = 'loss' AND cost_ns > 0",
            "down": "scenario = 'link_flap' AND id = 'port_down'",
            "plain": "scenario = 'clean'",
        })
        port = "(SELECT at_day, capture, slot, number, day, cluster, job, origin FROM made)"
        at_port = f"""
            SELECT m.*, n.node, {{rail}} AS rail, n.place, '{{kind}}' AS sampled, NULL::BIGINT AS cost_ns
            FROM {port} m JOIN members n USING (slot, number) WHERE n.node = {{node}} AND {{when}}"""
        wrong = " UNION ALL ".join([
            f"""SELECT m.*, l.node, l.node % 8 AS rail, l.place, l.sampled, t.lag_ns AS cost_ns
                FROM late l JOIN {port} m USING (capture) JOIN (
                    SELECT capture, straggler_host, sum(straggler_lag_ns)::BIGINT AS lag_ns
                    FROM steps GROUP BY capture, straggler_host
                ) t ON t.capture = l.capture AND t.straggler_host = node_name(l.node)""",
            f"""SELECT m.*, n.node, 0 AS rail, 0 AS place, 'congested' AS sampled, (l.duration_ns // 5)::BIGINT AS cost_ns
                FROM {port} m JOIN congested g USING (capture) JOIN length l USING (capture)
                JOIN members n ON n.slot = m.slot AND n.number = m.number AND n.place = 0""",
            at_port.format(kind="lossy", node=plan.losing, rail=plan.losing_rail,
                           when=f"m.at_day BETWEEN {plan.loses_from} AND {plan.fails_on}"),
            at_port.format(kind="lossy", node=plan.worse, rail=plan.worse_rail, when=f"m.at_day >= {plan.gets_worse_on}"),
            at_port.format(kind="down", node=plan.losing, rail=plan.losing_rail, when=f"m.at_day = {plan.fails_on}"),
            at_port.format(kind="down", node=plan.sudden, rail=plan.sudden_rail, when=f"m.at_day = {plan.sudden_on}"),
        ])
        self.run(f"CREATE TABLE wrong AS {wrong}")
        self.run(f"""
            CREATE TABLE all_verdicts AS
            SELECT *, row_number() OVER (PARTITION BY capture ORDER BY cost_ns DESC NULLS LAST, sampled, node) - 1 AS number_
            FROM (SELECT * FROM wrong UNION ALL
                  SELECT m.*, NULL, NULL, NULL, 'plain', NULL FROM {port} m
                  WHERE m.capture NOT IN (SELECT capture FROM wrong))""")
        cost = """CASE WHEN w.cost_ns IS NOT NULL THEN w.cost_ns
            WHEN w.sampled = 'lossy' THEN (s.cost_share * w.length_ns)::BIGINT END"""
        self.write("verdicts", self.drawn("verdicts", """
            SELECT v.*, v.capture AS a, v.number_ AS b, 0 AS c, l.duration_ns AS length_ns
            FROM all_verdicts v JOIN length l USING (capture)""", {
                "capture": "w.capture", "number": "w.number_", "host": "node_name(w.node)",
                "communicator": "'c' || w.capture", "port": "CASE WHEN s.port IS NOT NULL OR w.sampled = 'down' "
                                                            "THEN address(w.node, w.rail) END",
                "rank": "CASE WHEN s.rank IS NOT NULL THEN w.place * 8 + w.rail END",
                "peer_port": "NULL::VARCHAR", "since_at": "w.origin", "until_at": "w.origin + INTERVAL 30 SECOND",
                "cost_ns": cost, "cost_share": f"({cost}) / w.length_ns"}), "number")
        self.sample("findings", {
            "compute": "scenario = 'straggler_compute' AND id = 'straggler'",
            "enqueue": "scenario = 'straggler_enqueue' AND id = 'straggler'",
            "congested": "scenario = 'incast_ecn' AND id = 'congestion'",
            "lossy": "scenario = 'loss' AND id = 'loss'",
            "down": "scenario = 'link_flap' AND id = 'timeouts'",
        })
        self.write("findings", self.drawn("findings", """
            SELECT *, capture AS a, number_ AS b, 0 AS c FROM all_verdicts WHERE sampled <> 'plain'""", {
                "capture": "w.capture", "number": "w.number_", "explained_by": "w.number_",
                "host": "node_name(w.node)", "communicator": "'c' || w.capture",
                "port": "CASE WHEN s.port IS NOT NULL THEN address(w.node, w.rail) END",
                "rank": "CASE WHEN s.rank IS NOT NULL THEN w.place * 8 + w.rail END",
                "first_at": "w.origin", "last_at": "w.origin + INTERVAL 30 SECOND"}), "number")

    def truth(self):
        """What each question must find: see check.py."""
        plan = self.plan

        def day(at):
            return (FIRST_DAY + datetime.timedelta(days=at)).isoformat()

        slow, late = node_name(plan.slow), node_name(plan.late)
        updated = sum(1 for node in range(plan.nodes) if node % 5 == 0) * RAILS
        jobs = dict(self.run("SELECT job, size * 8 FROM congested").fetchall())
        (congested, gpus), = jobs.items()
        return {
            "slowest_nodes": {
                "planted": f"GPU {plan.slow % 8} of {slow} is late in 40 % of training steps, the data loader of {late} "
                           "every third day",
                "rows": [{"node": slow, "late_share": [0.3, 0.5], "days": plan.days}, {"node": late}]},
            "repeated_stragglers": {
                "planted": f"{slow} and {late} are late, and nobody else more than by chance",
                "rows": [{"node": slow, "cause": "compute", "ranks": 1, "days": plan.days},
                         {"node": late, "cause": "enqueue", "ranks": 1}],
                "count": 2},
            "lame_rails": {
                "planted": f"rail {plan.lame_rail} runs at {LAME} of the rate of the others",
                "rows": [{"rail": plan.lame_rail, "relative_rate": [LAME - 0.03, LAME + 0.03]}],
                "count": RAILS},
            "losing_nics": {
                "planted": f"{node_name(plan.losing)} loses on rail {plan.losing_rail} from {day(plan.loses_from)} and "
                           f"fails on {day(plan.fails_on)}; {node_name(plan.worse)} loses on rail {plan.worse_rail} "
                           f"since {day(plan.gets_worse_on)}; {node_name(plan.sudden)} fails without a sign",
                "rows": [{"port": address(plan.losing, plan.losing_rail), "failed_on": day(plan.fails_on),
                          "losing_since": day(plan.loses_from), "losing_days": plan.fails_on - plan.loses_from},
                         {"port": address(plan.worse, plan.worse_rail), "failed_on": None,
                          "losing_since": day(plan.gets_worse_on)}],
                "absent": [{"node": node_name(plan.sudden)}],
                "count": 2},
            "congestion_cost": {
                "planted": f"{congested} loses a fifth of its time",
                "rows": [{"job": congested, "gpus": gpus, "lost_share": [0.19, 0.21], "days": SLOT}],
                "count": 1},
            "firmware": {
                "planted": f"{FIRMWARES[1]} on a fifth of the nodes from {day(plan.updated_on)}: round trips take "
                           f"{SLOWER_RTT} times as long",
                "rows": [{"old_firmware": FIRMWARES[0], "new_firmware": FIRMWARES[1], "ports": updated}],
                "ratios": [["rtt_us_after", "rtt_us_before", SLOWER_RTT - 0.25, SLOWER_RTT + 0.25],
                           ["others_rtt_us_after", "others_rtt_us_before", 0.85, 1.15]],
                "count": 1},
            "gpu_hours": {
                "planted": f"{slow} and {late} cost most",
                "rows": [{"cause": "late_rank"}]},
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=pathlib.Path, help="tables of simulated jobs")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--captures", type=int, default=1, help="of a job and day")
    options = parser.parse_args()
    if options.out.exists():
        shutil.rmtree(options.out)
    options.out.mkdir(parents=True)
    month = Month(options.samples.resolve(), options.out.resolve(), Plan(options.nodes, options.days, options.captures))
    month.make()
    truth = options.out.parent / f"{options.out.name}.truth.json"
    truth.write_text(json.dumps(month.truth(), indent=1))


if __name__ == "__main__":
    main()
