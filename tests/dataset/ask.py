"""Asks an engine over the views of `collect --sql`: ask.py ENGINE VIEWS QUERY. Prints the rows as JSON. 77: it isn't installed."""
import decimal
import json
import sys

engine, views, query = sys.argv[1:]
with open(views) as file:
    # No statement has a semicolon within: texts with one stand in parentheses.
    statements = [s for s in file.read().split(";\n") if any(l and not l.startswith("--") for l in s.strip().split("\n"))]

try:
    if engine == "duckdb":
        import duckdb
        run = duckdb.connect()
        ask = lambda text: run.execute(text).fetchall()
    elif engine == "datafusion":
        import datafusion
        context = datafusion.SessionContext()
        ask = lambda text: [tuple(row.values()) for row in context.sql(text).to_pylist()]
    else:
        from pyspark.sql import SparkSession
        session = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false") \
            .config("spark.executorEnv.PYTHONHASHSEED", "0").getOrCreate()
        ask = lambda text: [tuple(row) for row in session.sql(text).collect()]
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)

for statement in statements:
    ask(statement)
number = lambda value: (int(value) if value == int(value) else float(value)) if isinstance(value, decimal.Decimal) else value
print(json.dumps([[number(value) for value in row] for row in ask(query)]))
