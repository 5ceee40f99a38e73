-- Which hosts are late again and again, and why?
--
-- A host that is named on at least three days, in at least two jobs, for the same cause. One cause in many
-- jobs is the machine: `compute` its GPU or its power, `enqueue` its CPU, disk or file system, `receiver` its
-- PCIe or memory. `ranks`: how many of its ranks; one points to a single GPU or NIC. Ranks are counted
-- within a host by their GPU's address, by their number where that is unknown.
WITH named AS (
    SELECT s.cluster AS cluster, s.straggler_host AS node, s.straggler_cause AS cause, s.day AS day,
           s.job AS job, s.straggler_lag_ns AS lag_ns,
           coalesce(w.bus_id, CAST(s.straggler_rank AS VARCHAR(20))) AS gpu
    FROM training_steps s
    LEFT JOIN rank_waits w
        ON w.capture = s.capture AND w.communicator = s.communicator AND w.rank = s.straggler_rank
    WHERE s.straggler_host IS NOT NULL
)
SELECT cluster, node, cause, count(DISTINCT day) AS days, count(DISTINCT job) AS jobs,
       count(DISTINCT gpu) AS ranks, count(*) AS late_steps, avg(lag_ns) / 1e6 AS mean_lag_ms,
       min(day) AS first_day, max(day) AS last_day
FROM named
GROUP BY cluster, node, cause
HAVING count(DISTINCT day) >= 3 AND count(DISTINCT job) >= 2
ORDER BY days DESC, late_steps DESC, cluster, node, cause
LIMIT 20
