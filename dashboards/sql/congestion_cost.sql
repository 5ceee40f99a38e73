-- Which jobs paid most for congestion?
--
-- Time that congestion and pause cost, in GPU hours of the job, and as a share of what was captured of it:
-- a job that is captured for a minute an hour paid the same share of the whole hour. `ce_share`: CE-marked
-- packets of its data, where marks could be seen.
WITH paid AS (
    SELECT v.cluster AS cluster, v.job AS job, sum(v.cost_ns / 3.6e12 * c.ranks) AS lost,
           count(DISTINCT v.day) AS days
    FROM verdicts v JOIN captures c ON c.capture = v.capture
    WHERE v.id IN ('congestion', 'pause') AND v.cost_ns IS NOT NULL
    GROUP BY v.cluster, v.job
),
seen AS (
    SELECT cluster, job, sum(duration_ns / 3.6e12 * ranks) AS captured, max(ranks) AS gpus
    FROM captures
    GROUP BY cluster, job
),
marks AS (
    SELECT cluster, job,
           sum(ce_packets) / NULLIF(sum(CASE WHEN ce_packets IS NOT NULL THEN frames END), 0) AS ce_share
    FROM queue_pairs
    WHERE role = 'data'
    GROUP BY cluster, job
)
SELECT paid.cluster AS cluster, paid.job AS job, seen.gpus AS gpus, paid.days AS days,
       paid.lost AS lost_gpu_hours, paid.lost / NULLIF(seen.captured, 0) AS lost_share,
       marks.ce_share AS ce_share
FROM paid
JOIN seen ON seen.cluster = paid.cluster AND seen.job = paid.job
LEFT JOIN marks ON marks.cluster = paid.cluster AND marks.job = paid.job
ORDER BY lost_gpu_hours DESC, cluster, job
LIMIT 10
