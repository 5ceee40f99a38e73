-- What did each cause cost, in GPU hours?
--
-- The cost of verdicts times the GPUs of the job, of what was captured; `lost_share`: of all GPU time that
-- was captured, so that it can be applied to the time that was not. Several verdicts of one capture may
-- stand beside each other: the sum over causes is an upper bound.
WITH seen AS (
    SELECT cluster, sum(duration_ns / 3.6e12 * ranks) AS captured FROM captures GROUP BY cluster
),
paid AS (
    SELECT v.cluster AS cluster, v.id AS cause, sum(v.cost_ns / 3.6e12 * c.ranks) AS lost,
           count(DISTINCT v.job) AS jobs, count(DISTINCT v.capture) AS captures
    FROM verdicts v JOIN captures c ON c.capture = v.capture
    WHERE v.severity <> 'info' AND v.cost_ns IS NOT NULL
    GROUP BY v.cluster, v.id
)
SELECT paid.cluster AS cluster, paid.cause AS cause, paid.lost AS lost_gpu_hours,
       paid.lost / NULLIF(seen.captured, 0) AS lost_share, paid.jobs AS jobs, paid.captures AS captures
FROM paid JOIN seen ON seen.cluster = paid.cluster
ORDER BY lost_gpu_hours DESC, cluster, cause
