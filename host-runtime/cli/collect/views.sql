
-- Each run once: of several rows the one of the last generation holds. Two processes that took a run for different services have left
-- two of one generation.
CREATE VIEW runs AS
SELECT * FROM (
    SELECT *, row_number() OVER (PARTITION BY run_id ORDER BY generation DESC, service, day) AS place FROM all_runs
) AS numbered WHERE place = 1;

CREATE VIEW functions AS
SELECT function_id, min(name) AS name, min(module) AS module, min(file) AS file, min(line) AS line, max(counted) AS counted
FROM all_functions GROUP BY function_id;

CREATE VIEW paths AS
SELECT path_id, min(parent_id) AS parent_id, min(function_id) AS function_id, min(depth) AS depth
FROM all_paths GROUP BY path_id;

-- What paths did, of runs that are there.
CREATE VIEW stats AS
SELECT s.*, r.clock, r.kind FROM all_stats s JOIN runs r
    ON s.run_id = r.run_id AND s.generation = r.generation AND s.service = r.service AND s.day = r.day;

CREATE VIEW spans AS
SELECT s.*, r.clock, r.kind FROM all_spans s JOIN runs r
    ON s.run_id = r.run_id AND s.generation = r.generation AND s.service = r.service AND s.day = r.day;

-- How many calls of a function fell into a bucket of durations, in each run.
CREATE VIEW durations AS
SELECT run_id, service, clock, function_id, bucket, sum(calls) AS calls
FROM (SELECT run_id, service, clock, function_id, OPEN_LISTS FROM stats) AS opened
GROUP BY run_id, service, clock, function_id, bucket;

-- The middle of each bucket, which is right to within 0.8 %, and how many calls are in it and below it.
CREATE VIEW function_durations AS
SELECT b.service, b.clock, f.name, b.function_id, b.calls,
    CASE WHEN b.bucket < 128 THEN CAST(b.bucket AS DOUBLE)
         ELSE (b.bucket % 64 + 64) * power(2.0, floor(b.bucket / 64.0) - 1)
            + floor((power(2.0, floor(b.bucket / 64.0) - 1) - 1) / 2) END AS nanos,
    sum(b.calls) OVER (PARTITION BY b.service, b.clock, b.function_id ORDER BY b.bucket) AS upto,
    sum(b.calls) OVER (PARTITION BY b.service, b.clock, b.function_id) AS calls_in_all
FROM (
    SELECT service, clock, function_id, bucket, sum(calls) AS calls
    FROM (SELECT service, clock, function_id, OPEN_LISTS FROM stats) AS opened GROUP BY service, clock, function_id, bucket
) AS b JOIN functions f ON b.function_id = f.function_id;

-- Percentiles of each function over all calls of all runs of a service that have the same clock, by the nearest rank. Nanoseconds, or
-- instructions where these are the clock.
CREATE VIEW function_percentiles AS
SELECT service, clock, name, function_id, max(calls_in_all) AS calls,
    min(CASE WHEN upto >= 0.5 * calls_in_all THEN nanos END) AS p50,
    min(CASE WHEN upto >= 0.9 * calls_in_all THEN nanos END) AS p90,
    min(CASE WHEN upto >= 0.95 * calls_in_all THEN nanos END) AS p95,
    min(CASE WHEN upto >= 0.99 * calls_in_all THEN nanos END) AS p99,
    min(CASE WHEN upto >= 0.999 * calls_in_all THEN nanos END) AS p999
FROM function_durations GROUP BY service, clock, name, function_id;

-- The figures of each function in each run. Recursion counts once in total_nanos.
CREATE VIEW run_functions AS
SELECT s.run_id, r.service, r.version, r.host, r.clock, r.kind, r.start, s.function_id, f.name,
    s.calls, s.self_nanos, s.total_nanos
FROM (
    SELECT run_id, function_id, sum(calls) AS calls, sum(self_nanos) AS self_nanos,
        sum(CASE WHEN outermost THEN total_nanos ELSE 0 END) AS total_nanos
    FROM stats GROUP BY run_id, function_id
) AS s JOIN runs r ON s.run_id = r.run_id JOIN functions f ON s.function_id = f.function_id;

-- Mean and variance of self times over the runs of a version. A run that lacks a function counts as 0, and so does a version.
CREATE VIEW version_functions AS
SELECT n.service, n.clock, n.kind, n.version, k.function_id, k.name, n.runs, coalesce(f.self_sum, 0) / n.runs AS mean,
    CASE WHEN n.runs > 1 THEN
        greatest(coalesce(f.self_squares, 0) - coalesce(f.self_sum, 0) * coalesce(f.self_sum, 0) / n.runs, 0) / (n.runs - 1)
    END AS variance
FROM (
    SELECT service, clock, kind, version, CAST(count(*) AS DOUBLE) AS runs FROM runs GROUP BY service, clock, kind, version
) AS n JOIN (
    SELECT DISTINCT service, clock, kind, function_id, name FROM run_functions
) AS k ON n.service = k.service AND n.clock = k.clock AND n.kind = k.kind LEFT JOIN (
    SELECT service, clock, kind, version, function_id, CAST(sum(self_nanos) AS DOUBLE) AS self_sum,
        sum(CAST(self_nanos AS DOUBLE) * CAST(self_nanos AS DOUBLE)) AS self_squares
    FROM run_functions GROUP BY service, clock, kind, version, function_id
) AS f ON n.service = f.service AND n.clock = f.clock AND n.kind = f.kind AND n.version = f.version AND k.function_id = f.function_id;

-- What changed between two versions: WHERE version_a = '1' AND version_b = '2' ORDER BY change DESC. The interval is Welch's, at 95 %,
-- of each function by itself: of a hundred functions that did not change, some five lie outside.
CREATE VIEW regressions AS
SELECT service, clock, kind, name, version_a, version_b, runs_a, runs_b, mean_a, mean_b, change,
    CASE WHEN mean_a > 0 THEN mean_b / mean_a END AS ratio,
    change - t * error AS change_from, change + t * error AS change_to,
    abs(change) > t * error AS significant
FROM (
    SELECT *, 1.959964 + 2.372270 / df + 2.822400 / (df * df) + 2.555850 / (df * df * df)
        + 1.589536 / (df * df * df * df) + 1.40618 * power(df, -5.45) AS t
    FROM (
        SELECT *, sqrt(va + vb) AS error,
            CASE WHEN va + vb > 0
                THEN (va + vb) * (va + vb) / (va * va / (runs_a - 1) + vb * vb / (runs_b - 1)) ELSE runs_a + runs_b - 2 END AS df
        FROM (
            SELECT a.service, a.clock, a.kind, a.name, a.version AS version_a, b.version AS version_b, a.runs AS runs_a,
                b.runs AS runs_b, a.mean AS mean_a, b.mean AS mean_b, b.mean - a.mean AS change,
                a.variance / a.runs AS va, b.variance / b.runs AS vb
            FROM version_functions a JOIN version_functions b ON a.service = b.service AND a.clock = b.clock
                AND a.kind = b.kind AND a.function_id = b.function_id AND a.version <> b.version
            WHERE a.mean > 0 OR b.mean > 0
        ) AS pairs
    ) AS errors
) AS intervals;

-- The flame graph of all runs of a service that have the same clock and kind: folded stacks.
CREATE VIEW flame AS
WITH RECURSIVE stacks (path_id, stack) AS (
    SELECT p.path_id, replace(f.name, ';', ',') FROM paths p JOIN functions f ON p.function_id = f.function_id
    WHERE p.parent_id = 0
    UNION ALL
    SELECT p.path_id, concat(s.stack, ';', replace(f.name, ';', ','))
    FROM paths p JOIN stacks s ON p.parent_id = s.path_id JOIN functions f ON p.function_id = f.function_id
)
SELECT w.service, w.clock, w.kind, k.stack, w.calls, w.self_nanos FROM stacks k JOIN (
    SELECT service, clock, kind, path_id, sum(calls) AS calls, sum(self_nanos) AS self_nanos
    FROM stats GROUP BY service, clock, kind, path_id
) AS w ON k.path_id = w.path_id;

-- How far a host's median self time of a function is from the median of all hosts, in units of the hosts' median distance from it.
CREATE VIEW host_outliers AS
SELECT h.service, h.clock, h.kind, h.name, h.host, h.runs, h.self_nanos, m.self_nanos AS of_all_hosts,
    CASE WHEN d.distance > 0 THEN (h.self_nanos - m.self_nanos) / (1.4826 * d.distance) END AS score
FROM (
    SELECT service, clock, kind, name, host, count(*) AS runs, median(self_nanos) AS self_nanos
    FROM run_functions GROUP BY service, clock, kind, name, host
) AS h JOIN (
    SELECT service, clock, kind, name, median(self_nanos) AS self_nanos FROM (
        SELECT service, clock, kind, name, host, median(self_nanos) AS self_nanos
        FROM run_functions GROUP BY service, clock, kind, name, host
    ) AS of_hosts GROUP BY service, clock, kind, name
) AS m ON h.service = m.service AND h.clock = m.clock AND h.kind = m.kind AND h.name = m.name JOIN (
    SELECT a.service, a.clock, a.kind, a.name, median(abs(a.self_nanos - b.self_nanos)) AS distance FROM (
        SELECT service, clock, kind, name, host, median(self_nanos) AS self_nanos
        FROM run_functions GROUP BY service, clock, kind, name, host
    ) AS a JOIN (
        SELECT service, clock, kind, name, median(self_nanos) AS self_nanos FROM (
            SELECT service, clock, kind, name, host, median(self_nanos) AS self_nanos
            FROM run_functions GROUP BY service, clock, kind, name, host
        ) AS of_hosts GROUP BY service, clock, kind, name
    ) AS b ON a.service = b.service AND a.clock = b.clock AND a.kind = b.kind AND a.name = b.name
    GROUP BY a.service, a.clock, a.kind, a.name
) AS d ON h.service = d.service AND h.clock = d.clock AND h.kind = d.kind AND h.name = d.name;

-- A run's place among the runs of its service, by self time: 0 for the fastest, 1 for the slowest.
CREATE VIEW run_places AS
SELECT run_id, service, version, host, name, start, clock, kind, self_nanos, calls,
    rank() OVER (PARTITION BY service, clock, kind ORDER BY self_nanos) AS place,
    count(*) OVER (PARTITION BY service, clock, kind) AS runs,
    percent_rank() OVER (PARTITION BY service, clock, kind ORDER BY self_nanos) AS share_faster
FROM runs;
