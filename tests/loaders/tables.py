"""Reads all calls with DuckDB, from Parquet and from CSV: both must say the same."""

import sys

import duckdb

parquet, csv = sys.argv[1:]
columns = "id, parent, lane, depth, function, name, start_nanos, duration_nanos, self_nanos, ending"
kinds = ", ".join(f"'{name}': 'VARCHAR'" for name in ("lane", "name", "ending"))
tables = [f"(SELECT {columns} FROM '{parquet}')", f"(SELECT {columns} FROM read_csv('{csv}', types={{{kinds}}}))"]
for one, other in (tables, tables[::-1]):
    assert duckdb.sql(f"SELECT count(*) FROM ({one} EXCEPT ALL {other})").fetchall() == [(0,)]
# Each call lies in its caller, and takes what it and what it called took.
wrong = f"""
    SELECT count(*) FROM {tables[0]} child JOIN {tables[0]} parent ON child.parent = parent.id
    WHERE child.depth <> parent.depth + 1 OR child.start_nanos < parent.start_nanos
       OR child.start_nanos + child.duration_nanos > parent.start_nanos + parent.duration_nanos"""
assert duckdb.sql(wrong).fetchall() == [(0,)]
sums = f"SELECT sum(self_nanos), sum(duration_nanos) FILTER (parent = 0) FROM {tables[0]}"
((own, outermost),) = duckdb.sql(sums).fetchall()
assert own == outermost, (own, outermost)
for name, count in duckdb.sql(f"SELECT name, count(*) FROM {tables[0]} GROUP BY name ORDER BY name").fetchall():
    print(count, name)
