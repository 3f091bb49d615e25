"""Results of a benchmark as a CSV file, with the versions of everything that was measured."""

import csv
import importlib.metadata
import os
import platform
import subprocess


def record(path, program, packages, rows):
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    versions = [version, f"python {platform.python_version()}"]
    versions += [f"{name} {importlib.metadata.version(name)}" for name in packages]
    versions.append(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["what", "who", "seconds", "ratio", "result", "versions"])
        writer.writerows([*row, ", ".join(versions)] for row in rows)


def target_of(arguments):
    """The file after `-o`; both are removed from the arguments."""
    if "-o" not in arguments:
        return None
    at = arguments.index("-o")
    arguments.pop(at)
    return arguments.pop(at)
