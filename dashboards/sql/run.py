#!/usr/bin/env python3
"""Asks the questions of this folder about tables that `railscope analyze --format parquet` wrote.

    run.py TABLES                            all questions, with DuckDB
    run.py TABLES lame_rails gpu_hours       some
    run.py TABLES --engine spark --threads 2
    run.py TABLES --since 2026-03-01 --until 2026-04-01

An engine is a Python package: duckdb, chdb (ClickHouse), pyspark (needs Java). Each sees the tables as views
of their names, so that the same SQL runs on all of them.
"""

import argparse
import datetime
import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).parent
# `day`, `cluster` and `job` are folders.
DEPTH = "*/*/*/*.parquet"


def tables(folder):
    return sorted(path.name for path in pathlib.Path(folder).iterdir() if path.is_dir())


def between(since, until):
    bounds = [f"day >= DATE '{since}'" if since else "", f"day < DATE '{until}'" if until else ""]
    return " AND ".join(bound for bound in bounds if bound) or "1 = 1"


class DuckDB:
    """In process."""

    def __init__(self, folder, threads, days):
        import duckdb

        self.database = duckdb.connect(config={"threads": threads} if threads else {})
        hive = "hive_partitioning = true, union_by_name = true, " \
            "hive_types = {'day': DATE, 'cluster': VARCHAR, 'job': VARCHAR}"
        for table in tables(folder):
            self.database.execute(
                f"CREATE VIEW {table} AS SELECT * FROM "
                f"read_parquet('{folder}/{table}/{DEPTH}', {hive}) WHERE {days}"
            )

    def ask(self, query):
        found = self.database.execute(query)
        return [column[0] for column in found.description], found.fetchall()


class ClickHouse:
    """In process, as chdb."""

    # As the standard has it: what is not there is null. Files of older releases may have fewer columns.
    # A job may be called 007, which Hive's partitions would make a number.
    SETTINGS = "SET join_use_nulls = 1, cast_keep_nullable = 1, schema_inference_mode = 'union', " \
        "schema_inference_make_columns_nullable = 1, use_hive_partitioning = 0, " \
        "output_format_json_quote_64bit_integers = 0"

    def __init__(self, folder, threads, days):
        from chdb import session

        self.session = session.Session()
        self.session.query(self.SETTINGS)
        if threads:
            self.session.query(f"SET max_threads = {threads}")
        self.session.query("CREATE DATABASE IF NOT EXISTS fleet ENGINE = Atomic")
        self.session.query("USE fleet")
        for table in tables(folder):
            self.session.query(
                f"CREATE VIEW {table} AS SELECT *, toDate({self.part('day')}) AS day, "
                f"{self.part('cluster')} AS cluster, {self.part('job')} AS job "
                f"FROM file('{folder}/{table}/{DEPTH}', 'Parquet') WHERE {days}"
            )

    @staticmethod
    def part(name):
        return f"extract(_path, '/{name}=([^/]+)/')"

    def ask(self, query):
        answer = self.session.query(query, "JSONCompactEachRowWithNames")
        names, *rows = [json.loads(line) for line in str(answer).splitlines()]
        return names, rows


class Spark:
    """A driver with `threads` workers in its process."""

    def __init__(self, folder, threads, days):
        from pyspark.sql import SparkSession

        settings = {
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
            "spark.sql.parquet.mergeSchema": "true",
            "spark.sql.shuffle.partitions": "8",
            "spark.driver.memory": "4g",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
        }
        builder = SparkSession.builder.master(f"local[{threads or '*'}]").appName("railscope")
        for name, value in settings.items():
            builder = builder.config(name, value)
        self.session = builder.getOrCreate()
        self.session.sparkContext.setLogLevel("ERROR")
        for table in tables(folder):
            read = self.session.read.parquet(f"{folder}/{table}")
            read = read.withColumn("day", read["day"].cast("date"))
            read.where(days).createOrReplaceTempView(table)

    def ask(self, query):
        found = self.session.sql(query)
        return found.columns, [list(row) for row in found.collect()]


ENGINES = {"duckdb": DuckDB, "clickhouse": ClickHouse, "spark": Spark}


def questions(names):
    known = {path.stem: path.read_text() for path in sorted(HERE.glob("*.sql"))}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"no question is called {' or '.join(unknown)}: {', '.join(known)}")
    return {name: known[name] for name in names or known}


def shown(value):
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def lines(columns, rows):
    """A table as text."""
    texts = [columns] + [[shown(value) for value in row] for row in rows]
    widths = [max(len(text[at]) for text in texts) for at in range(len(columns))]
    numeric = [all(isinstance(row[at], (int, float, type(None))) for row in rows) for at in range(len(columns))]
    for text in texts:
        cells = zip(text, widths, numeric)
        yield "  ".join(cell.rjust(width) if is_number else cell.ljust(width)
                        for cell, width, is_number in cells).rstrip()


def print_table(columns, rows):
    for line in lines(columns, rows):
        print(line)


def plain(value):
    """A value as all engines write it."""
    return value.isoformat() if isinstance(value, (datetime.date, datetime.datetime)) else value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=pathlib.Path, help="the folder that --output named")
    parser.add_argument("questions", nargs="*", help="names of files of this folder, without .sql")
    parser.add_argument("--engine", choices=ENGINES, default="duckdb")
    parser.add_argument("--threads", type=int, help="default: all")
    parser.add_argument("--since", type=datetime.date.fromisoformat, metavar="DAY", help="first day")
    parser.add_argument("--until", type=datetime.date.fromisoformat, metavar="DAY", help="day after the last one")
    options = parser.parse_args()
    asked = questions(options.questions)
    days = between(options.since, options.until)
    engine = ENGINES[options.engine](options.tables.resolve(), options.threads, days)
    for name, query in asked.items():
        began = time.monotonic()
        columns, rows = engine.ask(query)
        print(f"{name}: {query.splitlines()[0].removeprefix('-- ')} ({time.monotonic() - began:.2f} s)")
        print_table(columns, rows)
        print()


if __name__ == "__main__":
    main()
