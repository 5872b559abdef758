"""Writes dashboard.json, a dashboard of Grafana: python3 dashboard.py > dashboard.json.

The upper half is over the metrics that `kperf-wasm send --signals metrics` gives to a Collector and this to Prometheus. The lower half
is over a dataset, by Grafana's plugin for DuckDB (motherduck-duckdb-datasource), with the views of `collect --sql`.
"""
import json

PROMETHEUS = {"type": "prometheus", "uid": "${prometheus}"}
DUCKDB = {"type": "motherduck-duckdb-datasource", "uid": "${duckdb}"}

METRICS = [
    ("Calls a second", "ops", 'topk(10, sum by (code_function_name) (rate(kperf_function_calls_total{service_name=~"$service"}[$__rate_interval])))'),
    ("Time a second in each function", "s", 'topk(10, sum by (code_function_name) (rate(kperf_function_duration_seconds_sum{service_name=~"$service"}[$__rate_interval])))'),
    ("99th percentile of a call", "s", 'histogram_quantile(0.99, sum by (code_function_name) (rate(kperf_function_duration_seconds{service_name=~"$service"}[$__rate_interval])))'),
]
TABLES = [
    ("Percentiles of each function, all runs", "SELECT name, calls, p50, p90, p99, p999 FROM function_percentiles ORDER BY p99 DESC LIMIT 30"),
    ("What got slower", "SELECT name, mean_a, mean_b, ratio, change_from, change_to FROM regressions WHERE version_a = '${version_a}' AND version_b = '${version_b}' AND significant ORDER BY change DESC LIMIT 30"),
    ("Hosts that are unlike the others", "SELECT host, name, runs, self_nanos, of_all_hosts, score FROM host_outliers WHERE abs(score) > 3.5 ORDER BY abs(score) DESC LIMIT 30"),
    ("The slowest runs", "SELECT start, service, version, host, name, self_nanos, share_faster FROM run_places ORDER BY share_faster DESC LIMIT 30"),
]


def panel(n, title, source, kind, target, unit=None):
    width = 8 if source is PROMETHEUS else 12
    column, row = n % (24 // width), n // (24 // width)
    defaults = {"unit": unit} if unit else {}
    return {
        "title": title, "type": kind, "datasource": source, "targets": [{"refId": "A", "datasource": source, **target}],
        "fieldConfig": {"defaults": defaults, "overrides": []}, "options": {},
        "gridPos": {"h": 9, "w": width, "x": column * width, "y": (0 if source is PROMETHEUS else 9) + row * 9},
    }


panels = [panel(n, title, PROMETHEUS, "timeseries", {"expr": expr, "legendFormat": "{{code_function_name}}"}, unit)
          for n, (title, unit, expr) in enumerate(METRICS)]
panels += [panel(n, title, DUCKDB, "table", {"rawSql": sql, "format": "table"}) for n, (title, sql) in enumerate(TABLES)]
for n, each in enumerate(panels):
    each["id"] = n + 1
text = lambda name, label, value: {"name": name, "label": label, "type": "textbox", "query": value, "current": {"text": value, "value": value}}
source = lambda name, kind: {"name": name, "type": "datasource", "query": kind, "hide": 0}
print(json.dumps({
    "title": "kperf-wasm: a fleet", "uid": "kperf-fleet", "schemaVersion": 39, "version": 1, "editable": True,
    "tags": ["kperf-wasm", "webassembly"], "time": {"from": "now-6h", "to": "now"}, "refresh": "",
    "templating": {"list": [
        source("prometheus", "prometheus"), source("duckdb", "motherduck-duckdb-datasource"),
        text("service", "Service", ".*"), text("version_a", "Version before", "1"), text("version_b", "Version after", "2"),
    ]},
    "panels": panels,
}, indent=2))
