"""The benchmark: how fast is it here, beside the machine's roof and the libraries one knows?

A suite (`suites.py`) is a list of cases (`cases.py`, tables beside it). For each, the driver
(`measure.py`) asks the contestants in turn, round after round: the machine's roof (`roof.py`), this
library (`contestants.py`) and its peers, each in a process of its own (`peers.py`, `worker.py`).
Every result is checked against a reference in higher precision. `report.py` prints a table and
writes JSON. docs/benchmarks.md says what each figure means.
"""
