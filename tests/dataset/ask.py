"""Asks an engine over the views of `collect --sql`: ask.py ENGINE VIEWS QUERY.. Prints the rows of each query as JSON, in a line. 77: it isn't
installed."""
import decimal
import json
import os
import sys
from pathlib import Path

engine, views, *queries = sys.argv[1:]
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
        import pyspark
        from pyspark.sql import SparkSession
        # Two workers with an executor each, which are started by what the package has. Recursive queries want Spark 4.1 or newer.
        home = Path(pyspark.__file__).parent
        os.environ.setdefault("SPARK_HOME", str(home))
        scala = next((home / "jars").glob("scala-library-*")).name.split("-")[2]
        os.environ.setdefault("SPARK_SCALA_VERSION", ".".join(scala.split(".")[:2]))
        session = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false") \
            .config("spark.executorEnv.PYTHONHASHSEED", "0").getOrCreate()
        ask = lambda text: [tuple(row) for row in session.sql(text).collect()]
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)

for statement in statements:
    ask(statement)
number = lambda value: (int(value) if value == int(value) else float(value)) if isinstance(value, decimal.Decimal) else value
for query in queries:
    print(json.dumps([[number(value) for value in row] for row in ask(query)]))
