"""Runs fleet.ipynb without Jupyter: pictures.py VIEWS.sql FOLDER. What its cells find is printed, and its pictures are saved in the folder.
Needs duckdb from PyPI, and matplotlib for the pictures."""
import ast
import json
import os
import pathlib
import sys

views, folder = sys.argv[1], pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
os.environ["VIEWS"] = views
try:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plot
except ImportError:
    print("no matplotlib; pictures are left out", file=sys.stderr)
    plot = None


def save():
    title = plot.gca().get_title()
    file = folder / (title.lower().replace(",", "").replace(" ", "-") + ".svg")
    plot.tight_layout()
    plot.savefig(file)
    plot.close()
    print(file)


names = {}
for cell in json.loads(pathlib.Path(__file__).with_name("fleet.ipynb").read_text())["cells"]:
    is_picture = "picture" in cell["metadata"].get("tags", [])
    if cell["cell_type"] != "code" or is_picture and plot is None:
        continue
    if is_picture:
        plot.show = save
    code = ast.parse("".join(cell["source"]))
    # As a notebook does: what the last line is worth is shown.
    last = code.body.pop() if isinstance(code.body[-1], ast.Expr) and not is_picture else None
    exec(compile(code, cell["id"], "exec"), names)
    if last:
        for row in eval(compile(ast.Expression(last.value), cell["id"], "eval"), names):
            print(row)
