"""What the build depends on: permissive licences only, crates.io only, no version twice without a reason, and every direct
dependency explained in ARCHITECTURE.md.

    python3 tests/supply/check.py

Reads `cargo metadata --locked`; prints what is wrong and fails, or one line.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
LICENCES = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC",
    "MIT", "Unicode-3.0", "Unlicense", "Zlib",
}
# Versions that other packages have not agreed on: none of them is ours to choose.
TWICE = {
    "getrandom": "ahash through arrow, and tempfile, have not agreed",
    "hashbrown": "safetensors",
    "miniz_oxide": "png is behind flate2",
    "r-efi": "getrandom on UEFI",
    "syn": "derive macros between two versions",
}


def allowed(expression):
    """Whether a licence expression can be met by licences of the list."""
    words = re.findall(r"\(|\)|[^()\s/]+|/", expression)
    # "A/B" is an old way to write "A OR B"; "X WITH Y" is one licence.
    words = ["OR" if word == "/" else word for word in words]
    while "WITH" in words:
        at = words.index("WITH")
        words[at - 1 : at + 2] = [f"{words[at - 1]} WITH {words[at + 1]}"]
    python = [word if word in "()" else {"OR": "or", "AND": "and"}.get(word, str(word in LICENCES)) for word in words]
    return eval(" ".join(python), {"__builtins__": {}})


def main():
    done = subprocess.run(["cargo", "metadata", "--format-version", "1", "--locked"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    packages = json.loads(done.stdout)["packages"]
    wrong = []
    versions = collections.defaultdict(set)
    for package in packages:
        name = f"{package['name']} {package['version']}"
        versions[package["name"]].add(package["version"])
        if package["source"] not in (None, CRATES_IO):
            wrong.append(f"{name} comes from {package['source']}")
        if not package["license"] or not allowed(package["license"]):
            wrong.append(f"{name} has the licence {package['license']}")
    for name, found in versions.items():
        if len(found) > 1 and name not in TWICE:
            wrong.append(f"{name} is there in several versions: {', '.join(sorted(found))}")
    for name in TWICE:
        if len(versions[name]) < 2:
            wrong.append(f"{name} is no longer there twice: take it off the list")
    architecture = (ROOT / "ARCHITECTURE.md").read_text()
    ours = [package for package in packages if package["source"] is None]
    for package in ours:
        for dependency in package["dependencies"]:
            name = dependency["name"]
            if not any(name == other["name"] for other in ours) and f"`{name}`" not in architecture:
                wrong.append(f"ARCHITECTURE.md does not say what {name} is for")
    for problem in wrong:
        print(problem, file=sys.stderr)
    print(f"{len(packages)} packages, {len(wrong)} problems")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
