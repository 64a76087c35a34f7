"""How much there is to read. Whoever needs more room deletes first (CONTRIBUTING.md)."""

import runpy
from collections import Counter

CEILINGS = {"code": 241_300, "tests": 212_700, "simulations, speed": 18_200, "words": 28_000}


def test_nothing_grows_beyond_its_ceiling(root, monkeypatch):
    monkeypatch.chdir(root)
    sizes = runpy.run_path("speed/code_size.py")["of_files"]()
    found = Counter()
    for name, counts in sizes.items():
        folder = name.split("/")[0]
        found["tests" if folder == "tests" else "code"] += counts["tokens"]
        found["simulations, speed"] += counts["tokens"] * (folder in ("simulations", "speed"))
        found["words"] += counts["words"] * (folder != "tests")
    assert len(sizes) > 300
    assert found == {name: min(number, CEILINGS[name]) for name, number in found.items()}
