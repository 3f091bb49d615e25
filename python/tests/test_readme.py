"""The Python code in README.md runs, in order, as one program."""

import pathlib
import re
import subprocess
import sys

README = pathlib.Path(__file__).resolve().parents[1] / "README.md"


def blocks(text):
    """Each block of Python, preceded by empty lines so that errors show the page's line numbers."""
    for block in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield "\n" * text.count("\n", 0, block.start(1)) + block[1]


def test_code_of_the_readme_runs(tmp_path):
    code = list(blocks(README.read_text()))
    assert len(code) >= 8
    program = ["import matplotlib", "matplotlib.use('Agg')", "namespace = {'__name__': 'readme'}"]
    program += [f"exec(compile({block!r}, {str(README)!r}, 'exec'), namespace)" for block in code]
    # A separate process, so that the page cannot rely on imports or changes of other tests.
    script = tmp_path / "readme_blocks.py"
    script.write_text("\n".join(program))
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
