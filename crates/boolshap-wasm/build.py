"""Builds the library as WebAssembly into crates/boolshap/src/report/page, where reports take it from, and beside it a stamp of
what it was built from.

    python3 crates/boolshap-wasm/build.py           builds (`make wasm`)
    python3 crates/boolshap-wasm/build.py --check   fails if the stamp is not that of the present sources
    python3 crates/boolshap-wasm/build.py --same    builds again, and fails if other bytes come out
    python3 crates/boolshap-wasm/build.py --site F  builds the module of the playground into the file F, packed (`make site`)

The stamp has the digest of every source file that the compiler has read, of the settings of the build, and the versions of all
packages inside. The build needs `rustup target add wasm32-unknown-unknown`; the program itself does not, since the module is
kept with the sources. The same compiler gives the same bytes anywhere.
"""

import gzip
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "crates/boolshap/src/report/page"
MODULE, STAMP = PAGE / "engine.wasm.gz", PAGE / "engine.json"
TARGET = "wasm32-unknown-unknown"
BUILT = ROOT / "target/wasm"
# 128-bit vectors, which every browser has had since 2023; no instructions whose rounding depends on the machine.
FLAGS = ["-Ctarget-feature=+simd128", "-Clink-arg=-zstack-size=4194304"]
CRATES = ["crates/boolshap", "crates/boolshap-web", "crates/boolshap-wasm"]


def lines(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip().splitlines() if done.returncode == 0 else sys.exit(done.stderr.strip())


def compiler():
    return lines("rustc", "--version")[0]


def compile_module(*features):
    """The bytes of the module, and the source files it is made of."""
    cargo_home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    # No path of this machine gets into the module.
    hidden = [f"--remap-path-prefix={path}={name}" for path, name in ((ROOT, "boolshap"), (cargo_home, "cargo"))]
    environment = os.environ | {
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(FLAGS + hidden),
        # Otherwise a package draws a random number at each compilation.
        "CONST_RANDOM_SEED": "boolshap",
    }
    environment.pop("RUSTFLAGS", None)
    command = ["cargo", "build", "--quiet", "--locked", "--profile", "wasm", "--target", TARGET, "--package", "boolshap-wasm"]
    chosen = ["--no-default-features", *(word for name in features for word in ("--features", name))]
    done = subprocess.run([*command, "--lib", *chosen, "--target-dir", BUILT], cwd=ROOT, env=environment)
    if done.returncode != 0:
        sys.exit(f"the module was not built; is the target there? rustup target add {TARGET}")
    place = BUILT / TARGET / "wasm"
    _, _, read = (place / "libboolshap_wasm.d").read_text().partition(": ")
    found = sorted({str(pathlib.Path(name.replace("\\ ", " ")).relative_to(ROOT)) for name in re.split(r"(?<!\\) ", read.strip())})
    return (place / "boolshap_wasm.wasm").read_bytes(), found


def digest(files):
    """The digest of the source files, and of everything else that decides how they are compiled."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    crates = [tomllib.loads((ROOT / crate / "Cargo.toml").read_text()) for crate in CRATES]
    names = {name for crate in crates for name in crate["dependencies"]}
    settings = {
        "flags": FLAGS,
        "profiles": {name: manifest["profile"][name] for name in ("release", "wasm")},
        "features": [crate.get("features") for crate in crates],
        "dependencies": [crate["dependencies"] for crate in crates],
        "packages": {name: manifest["workspace"]["dependencies"].get(name) for name in sorted(names)},
    }
    text = json.dumps(settings, sort_keys=True)
    total = hashlib.sha256(text.encode())
    for name in files:
        path = ROOT / name
        content = path.read_bytes() if path.is_file() else b"missing"
        total.update(f"{name} {len(content)}\n".encode() + content)
    return total.hexdigest()


def packages():
    """What the module contains besides our own crates: names and versions."""
    command = ["cargo", "tree", "--locked", "--edges", "normal", "--target", TARGET, "--package", "boolshap-wasm", "--no-default-features"]
    found = lines(*command, "--prefix", "none", "--format", "{p}")
    return sorted({" ".join(line.split()[:2]) for line in found if "(/" not in line and "(proc-macro)" not in line})


def locked():
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    return {f"{package['name']} v{package['version']}" for package in lock["package"]}


def check():
    stamp = json.loads(STAMP.read_text())
    module = gzip.decompress(MODULE.read_bytes())
    again = "run `make wasm` and commit what it writes"
    if hashlib.sha256(module).hexdigest() != stamp["module"]:
        sys.exit(f"{MODULE.name} is not the module that {STAMP.name} is about: {again}")
    if missing := set(stamp["packages"]) - locked():
        sys.exit(f"the module has other packages inside than Cargo.lock has ({', '.join(sorted(missing))}): {again}")
    if digest(stamp["files"]) != stamp["sources"]:
        sys.exit(f"{MODULE.name} was not built from the present sources: {again}")
    print(f"the module in the page was built from these sources ({len(stamp['files'])} files, {len(module):,} bytes)")


def build():
    module, files = compile_module()
    stamp = {
        "module": hashlib.sha256(module).hexdigest(),
        "sources": digest(files),
        "compiler": compiler(),
        "packages": packages(),
        "files": files,
    }
    packed = gzip.compress(module, 9, mtime=0)
    MODULE.write_bytes(packed)
    STAMP.write_text(json.dumps(stamp, indent=1) + "\n")
    print(f"{MODULE.relative_to(ROOT)}: {len(module):,} bytes, {len(packed):,} packed, of {len(files)} files")


def same():
    stamp = json.loads(STAMP.read_text())
    if stamp["compiler"] != compiler():
        sys.exit(f"built by {stamp['compiler']}, and this is {compiler()}: bytes cannot be compared")
    if hashlib.sha256(compile_module()[0]).hexdigest() != stamp["module"]:
        sys.exit("other bytes come out than those in the page: run `make wasm` and commit what it writes")
    print("the same bytes come out")


def site(path):
    pathlib.Path(path).write_bytes(gzip.compress(compile_module("playground")[0], 9, mtime=0))


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            build()
        case ["--check"]:
            check()
        case ["--same"]:
            same()
        case ["--site", path]:
            site(path)
        case _:
            sys.exit(__doc__)
