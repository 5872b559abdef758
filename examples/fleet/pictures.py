"""Draws what a dataset says: pictures.py VIEWS.sql FOLDER. Needs duckdb and matplotlib from PyPI."""
import pathlib
import sys

import duckdb
import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plot

views, folder = sys.argv[1], pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
fleet = duckdb.connect()
fleet.execute(pathlib.Path(views).read_text())


def save(name, title):
    plot.title(title)
    plot.tight_layout()
    plot.savefig(folder / name)
    plot.close()
    print(folder / name)


rows = fleet.execute("SELECT name, p50, p90, p99 FROM function_percentiles ORDER BY p99 DESC LIMIT 10").fetchall()
for place, label in ((1, "p50"), (2, "p90"), (3, "p99")):
    plot.plot([max(row[place], 1) / 1e3 for row in rows], [row[0][:40] for row in rows], "o", label=label)
plot.xscale("log")
plot.xlabel("microseconds")
plot.legend()
save("percentiles.svg", "Calls of each function, over all runs")

rows = fleet.execute("SELECT version, list(self_nanos / 1e6) FROM runs GROUP BY version ORDER BY version").fetchall()
plot.boxplot([row[1] for row in rows], tick_labels=[row[0] for row in rows])
plot.ylabel("milliseconds")
save("versions.svg", "Runs of each version")

rows = fleet.execute("""
    SELECT name, change / 1e6, change_from / 1e6, change_to / 1e6 FROM regressions
    WHERE version_a = (SELECT min(version) FROM runs) AND version_b = (SELECT max(version) FROM runs)
    ORDER BY abs(change) DESC LIMIT 10""").fetchall()
if rows:
    errors = [[row[1] - row[2] for row in rows], [row[3] - row[1] for row in rows]]
    plot.errorbar([row[1] for row in rows], [row[0][:40] for row in rows], xerr=errors, fmt="o")
    plot.axvline(0, color="gray")
    plot.xlabel("milliseconds a run, with 95 %")
    save("changes.svg", "From the first version to the last")
