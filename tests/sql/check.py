#!/usr/bin/env python3
"""Asks every question of dashboards/sql about a made month, on DuckDB, ClickHouse and Spark.

The files have the schema of those that railscope itself wrote, all engines answer alike, and each answer is
the one that month.py planted. Prints sizes, seconds and answers; `--json` writes them for `cargo xtask sql`.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SQL = HERE.parent.parent / "dashboards/sql"
sys.path.insert(0, str(SQL))
# Nothing is left in folders of the repository.
sys.dont_write_bytecode = True
import run  # noqa: E402

# Sums of doubles depend on the order of their terms.
TOLERANCE = 1e-9


def schema(folder, table):
    """Columns of the first file of a table, as Parquet has them. Writers may say of a number that it is signed,
    and of a column whether it has nulls; engines read the same."""
    import duckdb

    file = next((folder / table).rglob("*.parquet"))
    kind = "CASE converted_type WHEN 'INT_64' THEN NULL ELSE converted_type END"
    query = f"SELECT name, type, {kind} FROM parquet_schema('{file}') WHERE type IS NOT NULL"
    return duckdb.sql(query).fetchall()


def check_schemas(month, samples):
    assert run.tables(month) == run.tables(samples), f"{run.tables(month)}, not {run.tables(samples)}"
    for table in run.tables(samples):
        made, written = schema(month, table), schema(samples, table)
        assert made == written, f"{table}: the month has {set(made) ^ set(written)} or another order"


def alike(one, other):
    if isinstance(one, bool) or isinstance(other, bool):
        return one == other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-12)
    return one == other


def compare(name, answers):
    (first, (columns, rows)), *others = answers.items()
    for engine, (other_columns, other_rows) in others:
        assert columns == other_columns, f"{name}: {first} has {columns}, {engine} {other_columns}"
        assert len(rows) == len(other_rows), f"{name}: {len(rows)} rows on {first}, {len(other_rows)} on {engine}"
        for row, other in zip(rows, other_rows):
            same = all(alike(one, two) for one, two in zip(row, other))
            assert same, f"{name}: {first} and {engine} differ:\n  {row}\n  {other}"


def check_truth(name, columns, rows, truth):
    """`rows`: the first rows, in this order, where a list is a range; `absent`: no row has these values; `count`:
    there are so many; `ratios`: of two columns of the first row, and its range."""
    found = [dict(zip(columns, row)) for row in rows]

    def fits(row, wanted):
        def has(column, value):
            if isinstance(value, list):
                low, high = value
                return row[column] is not None and low <= row[column] <= high
            return row[column] == value

        return all(has(*item) for item in wanted.items())

    for at, wanted in enumerate(truth.get("rows", [])):
        assert at < len(found) and fits(found[at], wanted), f"{name}: row {at} is not {wanted}: {found[at:at + 1]}"
    for unwanted in truth.get("absent", []):
        assert not any(fits(row, unwanted) for row in found), f"{name}: there is {unwanted}"
    for one, other, low, high in truth.get("ratios", []):
        ratio = found[0][one] / found[0][other]
        assert low <= ratio <= high, f"{name}: {one} is {ratio} times {other}, not {low} to {high}"
    if "count" in truth:
        assert len(found) == truth["count"], f"{name}: {len(found)} rows, not {truth['count']}: {found}"


def size(folder):
    """Files, rows and KiB."""
    import duckdb

    files = list(folder.rglob("*.parquet"))
    rows = duckdb.sql(f"SELECT sum(num_rows) FROM parquet_file_metadata('{folder}/**/*.parquet')").fetchall()[0][0]
    return len(files), int(rows), sum(path.stat().st_size for path in files) // 1024


def answer(month, engine, threads):
    """Columns and rows of each question, and seconds: each engine has a process of its own."""
    began = time.monotonic()
    session = run.ENGINES[engine](month, threads, run.between(None, None))
    questions = run.questions([])
    seconds = {"start": time.monotonic() - began}
    answers = {}
    for name, query in questions.items():
        began = time.monotonic()
        columns, rows = session.ask(query)
        seconds[name] = time.monotonic() - began
        answers[name] = (list(columns), [[run.plain(value) for value in row] for row in rows])
    return {"answers": answers, "seconds": seconds}


def in_process(month, engine, threads):
    command = [sys.executable, __file__, "--answer", engine, str(month), "."]
    command += ["--threads", str(threads)] if threads else []
    child = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert child.returncode == 0, f"{engine}: {child.stderr}"
    return json.loads(child.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("month", type=pathlib.Path)
    parser.add_argument("samples", type=pathlib.Path, help="tables that railscope wrote")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--workers", type=int, nargs="*", default=[2], help="of Spark, one run each")
    parser.add_argument("--markdown", type=pathlib.Path, help="write sizes, seconds and answers to this file")
    parser.add_argument("--answer", choices=run.ENGINES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    month = options.month.resolve()
    if options.answer:
        print(json.dumps(answer(month, options.answer, options.threads)))
        return
    check_schemas(month, options.samples.resolve())
    runs = [("duckdb", options.threads), ("clickhouse", options.threads)]
    runs += [("spark", workers) for workers in options.workers]
    results = {}
    for engine, threads in runs:
        label = f"{engine} {threads}" if engine == "spark" else engine
        results[label] = in_process(month, engine, threads)
    truth = json.loads((month.parent / f"{month.name}.truth.json").read_text())
    for name in run.questions([]):
        compare(name, {label: result["answers"][name] for label, result in results.items()})
        columns, rows = results["duckdb"]["answers"][name]
        check_truth(name, columns, rows, truth[name])
        print(f"{name}: {truth[name]['planted']}")
        run.print_table(columns, rows[:10])
        print()
    sizes = [[table, *size(month / table)] for table in run.tables(month)]
    sizes.append(["all", *(sum(column) for column in list(zip(*sizes))[1:])])
    run.print_table(["table", "files", "rows", "KiB"], sizes)
    print()
    names = ["start", *run.questions([])]
    seconds = [[name, *(result["seconds"][name] for result in results.values())] for name in names]
    seconds.append(["all", *(sum(result["seconds"].values()) for result in results.values())])
    run.print_table(["seconds", *results], seconds)
    if options.markdown:
        answers = results["duckdb"]["answers"]
        options.markdown.write_text("\n".join(page(truth, answers, sizes, list(results), seconds)))


def page(truth, answers, sizes, engines, seconds):
    """What docs/tables.md shows."""

    def table(columns, rows):
        yield "| " + " | ".join(columns) + " |"
        yield "|---" + "|--:" * (len(columns) - 1) + "|"
        for row in rows:
            yield "| " + " | ".join(f"{one:,}" if isinstance(one, int) else run.shown(one) for one in row) + " |"

    for name, text in run.questions([]).items():
        columns, rows = answers[name]
        yield f"### {text.splitlines()[0].removeprefix('-- ')}\n"
        yield f"[{name}.sql](../dashboards/sql/{name}.sql). Planted: {truth[name]['planted']}.\n"
        yield "```"
        yield from run.lines(columns, rows[:5])
        yield "```\n"
    yield "### Sizes and seconds\n"
    yield from table(["table", "files", "rows", "KiB"], sizes)
    yield ""
    yield from table(["seconds", *engines], seconds)
    yield ""


if __name__ == "__main__":
    try:
        main()
    except AssertionError as wrong:
        sys.exit(f"error: {wrong}")
