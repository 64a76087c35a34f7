"""`lm-eval-bias data`."""

import hashlib
import random
from urllib.parse import quote

import pytest

from lm_eval_bias.data import sources
from tests.serving import serving

FILES = {
    "one": {"first.csv": b"a,b\n1,2\n", "big.bin": random.Random(1).randbytes(1_000_000)},
    "two": {"all_of_it.csv": b"word\nx\n"},
}


@pytest.fixture
def server():
    with serving() as files:
        yield files


@pytest.fixture
def released(server, monkeypatch, tmp_path):
    """Two sources of three files, on a server of this machine."""
    entries = {}
    for source, contents in FILES.items():
        commit, files = source[0] * 40, []
        for name, content in contents.items():
            path = f"data/{name.replace('_', ' ')}"
            checksum = hashlib.sha256(content).hexdigest()
            about = {"name": name, "path": path, "bytes": len(content), "sha256": checksum}
            files.append(about)
            server.files[f"/someone/{source}/{commit}/{quote(path)}"] = content
        entries[source] = {"repository": f"someone/{source}", "commit": commit, "files": files}
    monkeypatch.setattr(sources, "lexicon", lambda name: entries)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(sources.MIRROR, f"{server.address}/")
    monkeypatch.delenv(sources.LOCAL, raising=False)


def folder(tmp_path, name):
    return tmp_path / "cache" / "lm-eval-bias" / "official" / name / (name[0] * 40)


@pytest.fixture
def told(command):
    """Runs it: the exit status and the lines that were printed, spaces as one."""

    def run(*arguments):
        status, out, _ = command("data", *arguments)
        return status, [" ".join(line.split()) for line in out.splitlines()]

    return run


def test_fetch_gets_what_is_missing_and_nothing_twice(released, server, told, tmp_path):
    status, lines = told("fetch")
    assert status == 0 and len(lines) == len(server.asked) == 3
    assert lines[0] == f"one/first.csv: fetched, 8 bytes, {folder(tmp_path, 'one') / 'first.csv'}"
    for name, contents in FILES.items():
        assert {p.name: p.read_bytes() for p in folder(tmp_path, name).iterdir()} == contents
    status, lines = told("fetch")
    assert (
        status == 0 and all("is there already" in line for line in lines) and len(server.asked) == 3
    )


def test_fetch_goes_on_where_it_broke(released, server, told, tmp_path):
    server.breaks_after = 300_000
    assert told("fetch")[0] == 1
    assert [path.name for path in folder(tmp_path, "one").glob("*.csv")] == ["first.csv"]
    assert told("fetch", "two")[0] == 0 and not (folder(tmp_path, "one") / "big.bin").exists()


def test_a_folder_of_ones_own_is_not_filled(released, server, told, monkeypatch, tmp_path, command):
    own = tmp_path / "own"
    monkeypatch.setenv(sources.LOCAL, str(own))
    status, _, error = command("data", "fetch")
    assert status == 1 and server.asked == []
    assert f"LM_EVAL_BIAS_DATA is set, so the tasks read the files in {own}" in error
