-- Which rails are lame?
--
-- Each rail beside the other rails of the same captures. `relative_rate`: the mean rate of its data queue
-- pairs as a share of that of the others; a ring goes at the pace of its slowest rail, so that a few per cent
-- count. Retransmissions and CE marks say why: marks point to a hot or narrow leaf, retransmissions to a
-- cable or port that loses, neither to ports that run at a lower rate.
WITH rails AS (
    SELECT cluster, capture, rail, avg(rate_bps) AS mean_rate, sum(retransmitted_packets) AS resent,
           sum(frames) AS sent, sum(ce_packets) AS marked,
           sum(CASE WHEN ce_packets IS NOT NULL THEN frames END) AS looked_at
    FROM queue_pairs
    WHERE role = 'data' AND rail IS NOT NULL
    GROUP BY cluster, capture, rail
),
beside AS (
    SELECT cluster, capture, rail, mean_rate, resent, sent, marked, looked_at,
           sum(mean_rate) OVER (PARTITION BY capture) AS sum_of_rates,
           count(*) OVER (PARTITION BY capture) AS rails_there
    FROM rails
)
SELECT cluster, rail, count(*) AS captures,
       avg(mean_rate * (rails_there - 1) / NULLIF(sum_of_rates - mean_rate, 0)) AS relative_rate,
       1e6 * sum(resent) / NULLIF(sum(sent), 0) AS resent_per_million,
       sum(marked) / NULLIF(sum(looked_at), 0) AS ce_share
FROM beside
WHERE rails_there > 1
GROUP BY cluster, rail
ORDER BY relative_rate, cluster, rail
