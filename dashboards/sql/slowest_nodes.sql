-- Which nodes held up the fleet most?
--
-- Training steps in which the others waited for a rank of the node that was late by itself, not because of
-- the network, in GPU hours of all GPUs that waited. A node that is late in one job only may be that job's
-- code: it needs two. `late_share`: of all training steps seen on the node, those in which it was waited for.
WITH presence AS (
    SELECT DISTINCT cluster, capture, host FROM rank_waits WHERE host IS NOT NULL
),
seen AS (
    SELECT p.cluster AS cluster, p.host AS node, sum(c.training_steps) AS seen_steps
    FROM presence p JOIN captures c ON c.capture = p.capture
    GROUP BY p.cluster, p.host
),
late AS (
    SELECT s.cluster AS cluster, s.straggler_host AS node,
           sum(s.straggler_lag_ns / 3.6e12 * c.ranks) AS lost_gpu_hours,
           count(*) AS late_steps, count(DISTINCT s.job) AS jobs, count(DISTINCT s.day) AS days
    FROM training_steps s JOIN captures c ON c.capture = s.capture
    WHERE s.straggler_host IS NOT NULL AND s.straggler_cause IN ('enqueue', 'compute', 'sender', 'receiver')
    GROUP BY s.cluster, s.straggler_host
)
SELECT late.cluster AS cluster, late.node AS node, late.lost_gpu_hours AS lost_gpu_hours,
       late.jobs AS jobs, late.days AS days, late.late_steps / seen.seen_steps AS late_share
FROM late JOIN seen ON seen.cluster = late.cluster AND seen.node = late.node
WHERE late.jobs >= 2
ORDER BY lost_gpu_hours DESC, cluster, node
LIMIT 10
