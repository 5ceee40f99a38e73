-- Which NICs lose before they fail?
--
-- Ports that lost packets on at least three days, with at least two other ports: who only talked to one bad
-- port is not bad itself. `failed_on`: the first day on which the port was dead or down, null if it is not
-- yet: these rows are the ones to act on. Loss after that day does not count.
WITH ends AS (
    SELECT cluster, day, src AS port, src_host AS node, dst AS peer, retransmitted_packets, frames
    FROM queue_pairs WHERE role = 'data'
    UNION ALL
    SELECT cluster, day, dst AS port, dst_host AS node, src AS peer, retransmitted_packets, frames
    FROM queue_pairs WHERE role = 'data'
),
daily AS (
    SELECT cluster, day, port, node, peer,
           1e6 * sum(retransmitted_packets) / NULLIF(sum(frames), 0) AS resent_per_million
    FROM ends
    GROUP BY cluster, day, port, node, peer
),
failed AS (
    SELECT cluster, port, min(day) AS failed_on
    FROM verdicts
    WHERE id IN ('port_down', 'path_dead') AND port IS NOT NULL
    GROUP BY cluster, port
)
SELECT d.cluster AS cluster, d.node AS node, d.port AS port, f.failed_on AS failed_on,
       min(d.day) AS losing_since, count(DISTINCT d.day) AS losing_days, count(DISTINCT d.peer) AS peers,
       max(d.resent_per_million) AS worst_per_million
FROM daily d LEFT JOIN failed f ON f.cluster = d.cluster AND f.port = d.port
WHERE d.resent_per_million >= 100 AND (f.failed_on IS NULL OR d.day < f.failed_on)
GROUP BY d.cluster, d.node, d.port, f.failed_on
HAVING count(DISTINCT d.day) >= 3 AND count(DISTINCT d.peer) >= 2
ORDER BY failed_on NULLS LAST, worst_per_million DESC, cluster, port
