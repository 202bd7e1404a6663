-- What `tcpexp compare --warmup 2s --baseline generators=1` says, computed a second time: from the raw
-- tables of a sweep, in whose directory this is read.
CREATE MACRO warmup_ns() AS 2000000000;
CREATE MACRO window_ns() AS 1000000000;
-- The share of the time from x to y that is in [a, b).
CREATE MACRO share_of(a, b, x, y) AS greatest(0, least(b, y) - greatest(a, x)) / (y - x);
-- A total, unless bins that are partly inside the window leave more than 5 % of it open.
CREATE MACRO known(likely, least_total, most_total) AS
    CASE WHEN greatest(most_total - likely, likely - least_total) <= 0.05 * likely THEN likely END;

CREATE VIEW runs AS
SELECT run, cell, parameters.cc AS cc, parameters.generators AS generators
FROM read_json('runs/*/run.json') WHERE status = 'complete';

CREATE VIEW traffic AS
SELECT run, t0_ns, rate_bps, t.name AS sender, t.class AS class, t.tool AS tool,
    t."from" AS source, t."to" AS sink, t.port AS port, t.duration_s IS NULL AS ends_by_itself,
    t0_ns + CAST(t.start_s * 1e9 AS BIGINT) AS from_ns,
    t0_ns + CAST((t.start_s + t.duration_s) * 1e9 AS BIGINT) AS planned_ns
FROM (SELECT run, t0_ns, parameters.rate_mbps * 1e6 AS rate_bps, unnest(traffic) AS t
      FROM read_json('runs/*/run.json') WHERE status = 'complete');

-- The directions of flows that carry the data of a sender; of iperf3 not its first connection.
CREATE VIEW lanes AS
WITH ends AS (
    SELECT *, regexp_extract(initiator, '^(.*):[0-9]+$', 1) AS ip_i,
        regexp_extract(responder, '^(.*):[0-9]+$', 1) AS ip_r,
        CAST(regexp_extract(initiator, ':([0-9]+)$', 1) AS INTEGER) AS port_i,
        CAST(regexp_extract(responder, ':([0-9]+)$', 1) AS INTEGER) AS port_r,
        min(mss_bytes) OVER (PARTITION BY run, flow_id) AS least_mss_bytes
    FROM 'runs/*/data/flows.parquet'),
candidates AS (
    SELECT t.*, f.flow_id, f.direction, f.protocol, epoch_ns(f.time) AS time_ns, f.duration_ns, f.ending, f.unique_bytes,
        f.recoveries,
        (f.least_mss_bytes - CASE WHEN f.timestamps THEN 12 ELSE 0 END) / (f.least_mss_bytes + 54) AS payload_share,
        row_number() OVER (PARTITION BY t.run, t.sender ORDER BY f.time, f.flow_id) AS place,
        count(*) OVER (PARTITION BY t.run, t.sender) AS connections
    FROM traffic t JOIN ends f ON f.run = t.run AND t.port IN (f.port_i, f.port_r)
        AND ((f.direction = 'forward' AND f.ip_i = t.source AND f.ip_r = t.sink)
          OR (f.direction = 'reverse' AND f.ip_r = t.source AND f.ip_i = t.sink)))
SELECT * FROM candidates WHERE tool <> 'iperf3' OR connections = 1 OR place > 1;

CREATE VIEW senders AS
SELECT run, any_value(rate_bps) AS rate_bps, class, sender, any_value(t0_ns) AS t0_ns,
    any_value(from_ns) AS from_ns, any_value(source) AS source, any_value(sink) AS sink,
    -- Windows end before `until_ns`, and a flow includes its last packet.
    coalesce(any_value(planned_ns), max(time_ns + duration_ns) + 1) AS until_ns,
    min(time_ns) AS seen_from_ns, max(time_ns + duration_ns) + 1 AS seen_until_ns
FROM lanes GROUP BY run, class, sender;

CREATE VIEW class_windows AS
SELECT run, class, any_value(rate_bps) AS rate_bps, count(*) AS senders,
    greatest(min(from_ns), any_value(t0_ns) + warmup_ns()) AS from_ns, max(until_ns) AS until_ns
FROM senders GROUP BY run, class;

-- Bins of each sender. Their packets are between x_ns and y_ns: not before the sender's first packet, and those
-- that arrive after its last one left count as arriving then.
CREATE VIEW bins AS
WITH all_bins AS (
    SELECT l.run, l.class, l.sender, epoch_ns(b.time) AS start_ns, epoch_ns(b.time) + b.width_ns AS end_ns,
        epoch_ns(b.time) + b.width_ns // 2 AS middle_ns, b.capture, s.seen_from_ns, s.seen_until_ns,
        CAST(b.goodput_bytes AS BIGINT) AS goodput_bytes,
        CAST(b.ip_bytes + 14 * b.packets AS BIGINT) AS link_bytes
    FROM lanes l JOIN senders s USING (run, class, sender)
    JOIN 'runs/*/data/throughput.parquet' b
        ON b.run = l.run AND b.flow_id = l.flow_id AND b.direction = l.direction)
SELECT *,
    CASE WHEN end_ns <= seen_from_ns THEN seen_from_ns WHEN start_ns >= seen_until_ns THEN seen_until_ns - 1
        ELSE greatest(start_ns, seen_from_ns) END AS x_ns,
    CASE WHEN end_ns <= seen_from_ns THEN seen_from_ns + 1 WHEN start_ns >= seen_until_ns THEN seen_until_ns
        ELSE least(end_ns, seen_until_ns) END AS y_ns
FROM all_bins;

CREATE VIEW goodputs AS
WITH inside AS (
    SELECT w.*, b.goodput_bytes, b.link_bytes, share_of(w.from_ns, w.until_ns, b.x_ns, b.y_ns) AS share
    FROM class_windows w JOIN bins b ON b.run = w.run AND b.class = w.class AND b.capture = 'dst'
    WHERE w.until_ns - w.from_ns > 1)
SELECT run, class, any_value(senders) AS senders,
    known(sum(goodput_bytes * share), sum(goodput_bytes * floor(share)), sum(goodput_bytes * ceil(share))) AS goodput_bytes,
    round(known(sum(link_bytes * share), sum(link_bytes * floor(share)), sum(link_bytes * ceil(share)))) AS link_bytes,
    any_value(until_ns - from_ns) / 1e9 AS seconds, any_value(rate_bps) AS rate_bps
FROM inside GROUP BY run, class;

-- Those that were not active in the window are not in the mean.
CREATE VIEW sender_goodputs AS
WITH own AS (
    SELECT s.*, greatest(s.from_ns, w.from_ns) AS a, least(s.until_ns, w.until_ns) AS b
    FROM senders s JOIN class_windows w USING (run, class)),
inside AS (
    SELECT o.run, o.class, o.sender, o.a, o.b, coalesce(b.goodput_bytes, 0) AS bytes,
        coalesce(share_of(o.a, o.b, b.x_ns, b.y_ns), 0) AS share
    FROM own o LEFT JOIN bins b ON b.run = o.run AND b.sender = o.sender AND b.capture = 'dst'
    WHERE o.b - o.a > 1),
rates AS (
    SELECT run, class, sender, sum(bytes * share) * 8e9 / any_value(b - a) AS bps,
        sum(bytes * floor(share)) * 8e9 / any_value(b - a) AS least_bps,
        sum(bytes * ceil(share)) * 8e9 / any_value(b - a) AS most_bps
    FROM inside GROUP BY run, class, sender)
SELECT run, class, known(avg(bps), avg(least_bps), avg(most_bps)) AS bps FROM rates GROUP BY run, class;

-- While all senders of the class were active.
CREATE VIEW shares AS
WITH together AS (
    SELECT run, class, max(from_ns) AS joined_ns, greatest(max(from_ns), any_value(t0_ns) + warmup_ns()) AS a,
        min(until_ns) AS b, count(*) AS n
    FROM senders GROUP BY run, class),
inside AS (
    SELECT t.*, s.sender, coalesce(b.goodput_bytes, 0) AS bytes,
        coalesce(share_of(t.a, t.b, b.x_ns, b.y_ns), 0) AS share
    FROM together t JOIN senders s USING (run, class)
    LEFT JOIN bins b ON b.run = s.run AND b.sender = s.sender AND b.capture = 'dst'
    WHERE t.n > 1 AND t.a < t.b)
SELECT run, class, n, joined_ns, a, b, sender,
    known(sum(bytes * share), sum(bytes * floor(share)), sum(bytes * ceil(share))) AS x
FROM inside GROUP BY run, class, n, joined_ns, a, b, sender;

CREATE VIEW fairness AS
SELECT run, class, sum(x) * sum(x) / (any_value(n) * sum(x * x)) AS jain, max(x) / min(x) AS max_min_ratio,
    1 - min(x) / max(x) AS epsilon
FROM shares GROUP BY run, class HAVING count(x) = count(*);

CREATE VIEW window_fairness AS
WITH cut AS (
    SELECT s.run, s.class, s.n, s.sender, (b.middle_ns - s.a) // window_ns() AS w,
        (s.b - s.a) // window_ns() AS windows, b.goodput_bytes AS bytes
    FROM shares s JOIN bins b ON b.run = s.run AND b.sender = s.sender AND b.capture = 'dst'
        AND b.middle_ns >= s.a AND b.middle_ns < s.b),
sums AS (SELECT run, class, any_value(n) AS n, w, sender, sum(bytes) AS x FROM cut WHERE w < windows GROUP BY run, class, w, sender),
indices AS (
    SELECT run, class, w, sum(x) * sum(x) / (any_value(n) * sum(x * x)) AS jain
    FROM sums GROUP BY run, class, w HAVING sum(x) > 0)
SELECT run, class, min(jain) AS jain_window_min, median(jain) AS jain_window_median,
    avg(CASE WHEN jain >= 0.9 THEN 1 ELSE 0 END) AS jain_window_fair_share
FROM indices GROUP BY run, class;

-- Round-trip times that begin at the sender.
CREATE VIEW rtts AS
SELECT l.run, l.class, l.sender, s.source, s.sink, epoch_ns(r.time) AS time_ns, r.rtt_ns
FROM lanes l JOIN senders s USING (run, class, sender)
JOIN 'runs/*/data/rtt.parquet' r
    ON r.run = l.run AND r.flow_id = l.flow_id AND r.direction = l.direction
WHERE r.method = 'packet_pairs' AND r.reference = 'src';

-- The base of a path has the round-trip times of both ends.
CREATE VIEW bases AS
SELECT l.run, s.source, s.sink, min(r.rtt_ns) AS base_ns
FROM lanes l JOIN senders s USING (run, class, sender)
JOIN 'runs/*/data/rtt.parquet' r ON r.run = l.run AND r.flow_id = l.flow_id
WHERE r.method = 'packet_pairs' GROUP BY l.run, s.source, s.sink;

CREATE VIEW delays AS
WITH inside AS (
    SELECT r.run, r.class, r.rtt_ns, b.base_ns
    FROM rtts r JOIN bases b USING (run, source, sink)
    JOIN senders s USING (run, class, sender) JOIN class_windows w USING (run, class)
    WHERE r.time_ns >= greatest(s.from_ns, w.from_ns) AND r.time_ns < least(s.until_ns, w.until_ns))
SELECT run, class, min(base_ns) / 1e6 AS rtt_base_ms, min(rtt_ns) / 1e6 AS rtt_min_ms,
    quantile_cont(rtt_ns, 0.5) / 1e6 AS rtt_median_ms, quantile_cont(rtt_ns, 0.95) / 1e6 AS rtt_p95_ms,
    quantile_cont(rtt_ns, 0.99) / 1e6 AS rtt_p99_ms, avg(rtt_ns) / 1e6 AS rtt_mean_ms,
    quantile_cont(rtt_ns - base_ns, 0.5) / 1e6 AS induced_rtt_median_ms,
    quantile_cont(rtt_ns - base_ns, 0.95) / 1e6 AS induced_rtt_p95_ms,
    avg((rtt_ns - base_ns) / base_ns) * 100 AS buffer_delay_percent
FROM inside GROUP BY run, class;

-- Packets of each sender whose fate is known.
CREATE VIEW fates AS
WITH fates_of_flows AS (
    SELECT run, flow_id, direction, epoch_ns(time) AS time_ns, packets, 0 AS lost FROM 'runs/*/data/owd.parquet'
    UNION ALL
    SELECT run, flow_id, direction, epoch_ns(time), packets, packets FROM 'runs/*/data/loss.parquet')
SELECT l.run, l.class, l.sender, f.time_ns, f.packets, f.lost
FROM lanes l JOIN fates_of_flows f ON f.run = l.run AND f.flow_id = l.flow_id AND f.direction = l.direction;

-- Bins of packets at the source, with the number of packets of unknown fate.
CREATE VIEW sent_bins AS
WITH sent AS (
    SELECT l.run, l.class, l.sender, epoch_ns(b.time) AS start_ns,
        epoch_ns(b.time) + any_value(b.width_ns) AS end_ns, CAST(sum(b.packets) AS BIGINT) AS packets
    FROM lanes l JOIN 'runs/*/data/throughput.parquet' b
        ON b.run = l.run AND b.flow_id = l.flow_id AND b.direction = l.direction AND b.capture = 'src'
    GROUP BY l.run, l.class, l.sender, b.time),
known_fates AS (
    SELECT s.run, s.class, s.sender, s.start_ns, CAST(sum(f.packets) AS BIGINT) AS packets
    FROM sent s JOIN fates f USING (run, class, sender) WHERE f.time_ns >= s.start_ns AND f.time_ns < s.end_ns
    GROUP BY s.run, s.class, s.sender, s.start_ns)
SELECT s.*, s.packets - coalesce(k.packets, 0) AS unknown
FROM sent s LEFT JOIN known_fates k USING (run, class, sender, start_ns);

CREATE VIEW others AS
SELECT l.run, l.class, l.sender, sum(f.path_missed_packets) AS missed, sum(f.path_outside_packets) AS outside,
    sum(f.path_lost_or_missed_packets + f.path_ambiguous_packets + f.path_outside_packets) AS unknown
FROM lanes l JOIN 'runs/*/data/flows.parquet' f USING (run, flow_id, direction)
GROUP BY l.run, l.class, l.sender;

-- Senders whose bins show all of these packets, and where their last bins with some of them begin: as many bins as
-- hold those sent after the receiver's capture ended.
CREATE VIEW ends AS
WITH shown AS (
    SELECT b.run, b.class, b.sender FROM sent_bins b JOIN others o USING (run, class, sender)
    GROUP BY b.run, b.class, b.sender HAVING sum(b.unknown) = any_value(o.missed + o.unknown)),
later AS (
    SELECT b.*, o.outside,
        bool_and(b.unknown > 0) OVER back AS is_open, sum(b.unknown) OVER back - b.unknown AS after
    FROM sent_bins b JOIN others o USING (run, class, sender) WHERE b.packets > 0
    WINDOW back AS (PARTITION BY b.run, b.class, b.sender ORDER BY b.start_ns DESC ROWS UNBOUNDED PRECEDING))
SELECT s.run, s.class, s.sender, min(l.start_ns) AS end_ns
FROM shown s LEFT JOIN later l ON l.run = s.run AND l.class = s.class AND l.sender = s.sender
    AND l.is_open AND l.after < l.outside
GROUP BY s.run, s.class, s.sender;

-- The window of each sender without these bins, if at least half of its packets are left.
CREATE VIEW decided AS
WITH windows AS (
    SELECT s.run, s.class, s.sender, greatest(s.from_ns, w.from_ns) AS from_ns, least(s.until_ns, w.until_ns) AS until_ns,
        e.sender IS NOT NULL AS is_shown, coalesce(e.end_ns, s.until_ns) AS end_ns
    FROM senders s JOIN class_windows w USING (run, class) LEFT JOIN ends e USING (run, class, sender)),
sums AS (
    SELECT w.*, coalesce(sum(b.packets), 0) AS sent,
        coalesce(sum(b.packets) FILTER (b.start_ns < w.end_ns), 0) AS kept,
        coalesce(sum(b.unknown), 0) AS unknown,
        coalesce(sum(b.unknown) FILTER (b.start_ns < w.end_ns), 0) AS kept_unknown
    FROM windows w LEFT JOIN sent_bins b ON b.run = w.run AND b.class = w.class AND b.sender = w.sender
        AND b.start_ns < w.until_ns AND b.end_ns > w.from_ns
    GROUP BY ALL)
SELECT s.run, s.class, s.sender, s.from_ns,
    CASE WHEN 2 * s.kept >= s.sent THEN least(s.until_ns, s.end_ns) ELSE s.until_ns END AS until_ns,
    CASE WHEN NOT s.is_shown THEN o.missed + o.unknown WHEN 2 * s.kept >= s.sent THEN s.kept_unknown
        ELSE s.unknown END AS in_window, least(o.missed, in_window) AS missed, least(o.unknown, in_window) AS unknown
FROM sums s JOIN others o USING (run, class, sender);

CREATE VIEW losses AS
WITH by_sender AS (
    SELECT d.run, d.class, d.sender, sum(f.lost) AS lost, sum(f.packets) AS packets,
        any_value(d.missed) AS missed, any_value(d.unknown) AS unknown
    FROM decided d JOIN fates f USING (run, class, sender)
    WHERE f.time_ns >= d.from_ns AND f.time_ns < d.until_ns
    GROUP BY d.run, d.class, d.sender),
bounds AS (
    SELECT run, class, sum(lost) / sum(packets + missed) AS likely,
        sum(lost) / sum(packets + missed + unknown) AS least_share,
        sum(lost + unknown) / sum(packets + unknown) AS most_share
    FROM by_sender GROUP BY run, class)
SELECT run, class,
    CASE WHEN most_share - least_share <= 0.0005 THEN likely ELSE known(likely, least_share, most_share) END AS loss_ratio
FROM bounds;

CREATE VIEW repeats AS
WITH again AS (
    SELECT l.run, l.class,
        sum((CAST(e.end_seq AS BIGINT) - CAST(e.start_seq AS BIGINT) + 4294967296) % 4294967296) AS bytes
    FROM lanes l JOIN senders s USING (run, class, sender) JOIN class_windows w USING (run, class)
    JOIN 'runs/*/data/events.parquet' e ON e.run = l.run AND e.flow_id = l.flow_id AND e.direction = l.direction
    WHERE e.event = 'retransmission' AND e.capture = 'src'
        AND epoch_ns(e.time) >= greatest(s.from_ns, w.from_ns) AND epoch_ns(e.time) < least(s.until_ns, w.until_ns)
    GROUP BY l.run, l.class),
inside AS (
    SELECT b.run, b.class, b.goodput_bytes AS bytes,
        share_of(greatest(s.from_ns, w.from_ns), least(s.until_ns, w.until_ns), b.x_ns, b.y_ns) AS share
    FROM bins b JOIN senders s USING (run, class, sender) JOIN class_windows w USING (run, class)
    WHERE b.capture = 'src'),
first AS (
    SELECT run, class, round(known(sum(bytes * share), sum(bytes * floor(share)), sum(bytes * ceil(share)))) AS bytes
    FROM inside GROUP BY run, class),
told AS (SELECT run, class FROM lanes GROUP BY run, class HAVING bool_and(recoveries IS NOT NULL))
SELECT t.run, t.class, coalesce(a.bytes, 0) / (f.bytes + coalesce(a.bytes, 0)) AS retransmission_ratio
FROM told t JOIN first f USING (run, class) LEFT JOIN again a USING (run, class);

-- Connections whose end was not planned.
CREATE VIEW transfers AS
WITH ended AS (
    SELECT l.run, l.class, l.duration_ns / 1e9 AS seconds,
        l.unique_bytes * 8 / (l.rate_bps * l.payload_share) + 2 * b.base_ns / 1e9 AS least_seconds
    FROM lanes l JOIN bases b USING (run, source, sink) JOIN class_windows w USING (run, class)
    WHERE l.ends_by_itself AND l.protocol = 'tcp' AND l.time_ns >= w.from_ns)
SELECT run, class, quantile_cont(seconds, 0.5) AS completion_median_s,
    quantile_cont(seconds, 0.95) AS completion_p95_s,
    quantile_cont(seconds / least_seconds, 0.5) AS slowdown_median,
    quantile_cont(seconds / least_seconds, 0.95) AS slowdown_p95
FROM ended GROUP BY run, class;

CREATE VIEW segments AS
SELECT run, class, min(payload_share) AS payload_share FROM lanes GROUP BY run, class
HAVING min(payload_share) = max(payload_share) AND bool_and(payload_share IS NOT NULL);

CREATE VIEW measured AS
SELECT g.run, g.class, g.senders, g.goodput_bytes * 8 / g.seconds AS goodput_bps,
    (SELECT bps FROM sender_goodputs s WHERE s.run = g.run AND s.class = g.class) AS flow_goodput_bps,
    g.link_bytes * 8 / (g.rate_bps * g.seconds) AS utilisation,
    d.* EXCLUDE (run, class), l.loss_ratio, r.retransmission_ratio,
    100 * (1 - r.retransmission_ratio) AS tcp_efficiency_percent,
    g.rate_bps * p.payload_share / (g.goodput_bytes * 8 / g.seconds) AS transfer_time_ratio,
    f.* EXCLUDE (run, class), w.* EXCLUDE (run, class), t.* EXCLUDE (run, class)
FROM goodputs g LEFT JOIN delays d USING (run, class) LEFT JOIN losses l USING (run, class)
LEFT JOIN repeats r USING (run, class) LEFT JOIN fairness f USING (run, class)
LEFT JOIN window_fairness w USING (run, class) LEFT JOIN transfers t USING (run, class)
LEFT JOIN segments p USING (run, class);

CREATE VIEW cells AS
WITH medians AS (
    SELECT r.cc, r.generators, m.class, median(m.flow_goodput_bps) AS goodput_bps, median(m.rtt_median_ms) AS rtt_ms
    FROM measured m JOIN runs r USING (run) GROUP BY r.cc, r.generators, m.class),
harmed AS (
    SELECT m.*, r.cell, m.flow_goodput_bps / b.goodput_bps AS friendliness,
        (b.goodput_bps - m.flow_goodput_bps) / b.goodput_bps AS goodput_harm,
        (m.rtt_median_ms - b.rtt_ms) / m.rtt_median_ms AS rtt_harm
    FROM measured m JOIN runs r USING (run)
    LEFT JOIN medians b ON b.generators = 1 AND b.cc = r.cc AND b.class = m.class)
SELECT cell, class, count(*) AS runs, median(COLUMNS(* EXCLUDE (run, cell, class, senders))) AS "\0"
FROM harmed GROUP BY cell, class;
