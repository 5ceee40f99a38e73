-- What did a firmware change?
--
-- Ports whose firmware changed, seven days before and seven days after, beside ports whose firmware did not
-- change, on the same days: a difference that the others show, too, is not the firmware's. Figures are of
-- the data that the ports sent.
WITH sent AS (
    SELECT capture, src, sum(frames) AS packets, sum(retransmitted_packets) AS resent,
           avg(ack_rtt_p50_ns) AS rtt_ns
    FROM queue_pairs
    WHERE role = 'data'
    GROUP BY capture, src
),
daily AS (
    SELECT p.cluster AS cluster, p.address AS port, p.day AS day, p.firmware AS firmware,
           sent.packets AS packets, sent.resent AS resent, sent.rtt_ns AS rtt_ns
    FROM ports p JOIN sent ON sent.capture = p.capture AND sent.src = p.address
    WHERE p.firmware IS NOT NULL
),
versions AS (
    SELECT cluster, port, firmware, min(day) AS first_day FROM daily GROUP BY cluster, port, firmware
),
ordered AS (
    SELECT cluster, port, firmware, first_day,
           lag(firmware) OVER (PARTITION BY cluster, port ORDER BY first_day) AS old_firmware,
           count(*) OVER (PARTITION BY cluster, port) AS firmwares
    FROM versions
),
others AS (
    SELECT d.cluster AS cluster, d.day AS day, 1e6 * sum(d.resent) / NULLIF(sum(d.packets), 0) AS per_million,
           avg(d.rtt_ns) AS rtt_ns
    FROM daily d JOIN ordered o ON o.cluster = d.cluster AND o.port = d.port
    WHERE o.firmwares = 1
    GROUP BY d.cluster, d.day
),
sides AS (
    SELECT o.cluster AS cluster, o.port AS port, o.old_firmware AS old_firmware, o.firmware AS new_firmware,
           d.day >= o.first_day AS is_after, d.packets AS packets, d.resent AS resent, d.rtt_ns AS rtt_ns,
           others.per_million AS others_per_million, others.rtt_ns AS others_rtt_ns
    FROM ordered o
    JOIN daily d ON d.cluster = o.cluster AND d.port = o.port
    LEFT JOIN others ON others.cluster = d.cluster AND others.day = d.day
    WHERE o.old_firmware IS NOT NULL
        AND d.day >= o.first_day - INTERVAL 7 DAY AND d.day < o.first_day + INTERVAL 7 DAY
)
SELECT cluster, old_firmware, new_firmware, count(DISTINCT port) AS ports,
       1e6 * sum(CASE WHEN is_after THEN 0 ELSE resent END)
           / NULLIF(sum(CASE WHEN is_after THEN 0 ELSE packets END), 0) AS resent_per_million_before,
       1e6 * sum(CASE WHEN is_after THEN resent ELSE 0 END)
           / NULLIF(sum(CASE WHEN is_after THEN packets ELSE 0 END), 0) AS resent_per_million_after,
       avg(CASE WHEN is_after THEN NULL ELSE others_per_million END) AS others_resent_before,
       avg(CASE WHEN is_after THEN others_per_million ELSE NULL END) AS others_resent_after,
       avg(CASE WHEN is_after THEN NULL ELSE rtt_ns END) / 1e3 AS rtt_us_before,
       avg(CASE WHEN is_after THEN rtt_ns ELSE NULL END) / 1e3 AS rtt_us_after,
       avg(CASE WHEN is_after THEN NULL ELSE others_rtt_ns END) / 1e3 AS others_rtt_us_before,
       avg(CASE WHEN is_after THEN others_rtt_ns ELSE NULL END) / 1e3 AS others_rtt_us_after
FROM sides
GROUP BY cluster, old_firmware, new_firmware
ORDER BY ports DESC, cluster, old_firmware, new_firmware
