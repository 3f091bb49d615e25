"""Whether a wheel holds the package and nothing else, and can be used: check_wheel.py WHEEL, in an environment where it
is installed. The tests of the package run without a wheel, on the same files."""

import pathlib
import sys
import zipfile

import boolshap

SOURCE = pathlib.Path(__file__).resolve().parent / "boolshap"


def main(wheel):
    files = [path.relative_to(SOURCE.parent) for path in SOURCE.rglob("*") if path.is_file()]
    wanted = {str(path) for path in files if path.suffix not in (".pyc", ".so")} | {"boolshap/_native.abi3.so"}
    found = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert found == wanted, f"missing {sorted(wanted - found)}, unexpected {sorted(found - wanted)}"
    assert SOURCE not in pathlib.Path(boolshap.__file__).resolve().parents, "this is not the wheel's package"
    both = boolshap.compile(lambda bits: bits[:, 0] & bits[:, 1], features=["a", "b"])
    assert boolshap.Explainer(both).shap_values([[1, 1]]).tolist() == [[0.375, 0.375]]
    print(f"{wheel}: {len(found)} files, version {boolshap.__version__}")


if __name__ == "__main__":
    main(sys.argv[1])
