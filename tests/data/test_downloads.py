"""Files come whole or not at all, and a download that was cut off is continued."""

import hashlib
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from lm_eval_bias.data import downloads
from lm_eval_bias.data.downloads import Unreachable, begun, fetch
from lm_eval_bias.usage import UsageError
from tests.serving import serving

CONTENT = random.Random(0).randbytes(1_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HALF = 500_000


@pytest.fixture
def server():
    with serving() as files:
        files.files["/file"] = CONTENT
        yield files


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "kept" / "file.csv"
    path.parent.mkdir()
    return path


def get(server, path, expected=SHA256, **more):
    return fetch(f"{server.address}/file", path, expected, **more)


def alone(path):
    """Whether the file is there, whole, and nothing beside it but a note of its checksum."""
    names = {p.name for p in path.parent.iterdir()} - {downloads.noted(path).name}
    return path.read_bytes() == CONTENT and names == {path.name}


def test_a_file_is_fetched_and_its_progress_told(server, path):
    steps = []
    get(server, path, progress=lambda *step: steps.append(step))
    assert alone(path) and server.asked == [("/file", None)]
    size = len(CONTENT)
    assert steps[0] == (0, size) and steps[-1] == (size, size) and steps == sorted(steps)


@pytest.mark.parametrize("expected", [SHA256, None])
@pytest.mark.parametrize("ranges", [True, False])
def test_a_broken_download_is_continued_or_where_the_server_sends_no_parts_begun_anew(
    server, path, ranges, expected
):
    server.ranges, server.breaks_after = ranges, HALF
    message = r"cannot download http\S+/file \(broken off after 500,000 of 1,000,000 bytes\)"
    with pytest.raises(Unreachable, match=message):
        get(server, path, expected)
    assert not path.exists() and begun(path).read_bytes() == CONTENT[:HALF]
    server.breaks_after = None
    steps = []
    get(server, path, expected, progress=lambda there, total: steps.append(there))
    assert alone(path) and server.asked == [("/file", None), ("/file", "bytes=500000-")]
    assert steps[0] == (HALF if ranges else 0)


@pytest.mark.slow
def test_a_killed_download_is_continued(server, path):
    """Killed by the system in the middle, so that it can clean nothing up."""
    server.stops_after = HALF
    code = (
        "import sys; from lm_eval_bias.data.downloads import *; from pathlib import Path; "
        "fetch(sys.argv[1], Path(sys.argv[2]), sys.argv[3])"
    )
    command = [sys.executable, "-c", code, f"{server.address}/file", str(path), SHA256]
    running = subprocess.Popen(command, stderr=subprocess.PIPE)
    waited = time.monotonic() + 60
    while not (begun(path).exists() and begun(path).stat().st_size >= HALF // 2):
        assert running.poll() is None and time.monotonic() < waited, running.stderr.read().decode()
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    there = begun(path).stat().st_size
    assert not path.exists() and 0 < there <= HALF and begun(path).read_bytes() == CONTENT[:there]
    server.stops_after = None
    assert subprocess.run(command).returncode == 0
    assert alone(path) and server.asked[-1] == ("/file", f"bytes={there}-")


def test_what_had_come_whole_but_not_got_its_name_is_not_fetched_again(server, path):
    begun(path).write_bytes(CONTENT)
    get(server, path)
    assert alone(path) and server.asked == []


@pytest.mark.parametrize(
    "old",
    [b"begun with another file", b"x" * 2_000_000, b"x" * len(CONTENT)],
    ids=["shorter", "longer", "as long"],
)
def test_a_first_part_of_something_else_is_thrown_away(server, path, old):
    begun(path).write_bytes(old)
    get(server, path)
    assert alone(path)
    assert server.asked[0] == ("/file", f"bytes={len(old)}-") and server.asked[-1] == (
        "/file",
        None,
    )


@pytest.mark.parametrize("expected", [SHA256, None])
def test_a_part_that_begins_elsewhere_than_asked_is_no_continuation(server, path, expected):
    begun(path).write_bytes(CONTENT[:HALF])
    server.shifted = 10
    # what came was taken for a whole file, and was none; then the whole was asked for
    get(server, path, expected)
    assert alone(path) and server.asked == [("/file", "bytes=500000-"), ("/file", None)]


def test_another_file_is_refused_and_nothing_is_left_of_it(server, path):
    server.files["/file"] = b"404, but politely"
    with pytest.raises(UsageError, match="has another checksum than expected; do not use it"):
        get(server, path)
    assert list(path.parent.iterdir()) == []


def test_a_spoilt_file_is_replaced_and_only_by_a_good_one(server, path):
    path.write_bytes(b"spoilt")
    server.refuses = 503
    with pytest.raises(Unreachable, match=r"\(Service Unavailable\)"):
        get(server, path)
    assert [p.read_bytes() for p in path.parent.iterdir()] == [b"spoilt"]
    server.refuses = None
    get(server, path)
    assert alone(path)


def test_a_server_that_does_not_say_how_long_the_file_is(server, path):
    server.tells_length = False
    with pytest.raises(Unreachable, match="the length of the file is unknown, and so is its check"):
        get(server, path, None)
    assert not path.exists()
    totals = set()
    get(server, path, progress=lambda there, total: totals.add(total))
    assert alone(path) and totals == {None}


def test_a_server_that_says_nothing_is_not_waited_for_forever(server, path, monkeypatch):
    monkeypatch.setattr(downloads, "SECONDS", 0.3)
    server.stops_after = HALF
    with pytest.raises(Unreachable, match="timed out"):
        get(server, path)
    server.stops_after = None
    get(server, path)
    assert alone(path)
    assert server.asked[-1][1] is not None  # what had come was kept


def test_several_at_once_fetch_it_once(server, path):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: get(server, path), range(4)))
    assert alone(path) and server.asked == [("/file", None)]


def test_a_folder_that_cannot_be_written_is_the_systems_error(server, tmp_path):
    (tmp_path / "file").write_text("a file where the folder should be")
    with pytest.raises(OSError):
        get(server, tmp_path / "file" / "file.csv")


@pytest.mark.parametrize(
    "address", ["nowhere", "http://127.0.0.1:1/file", "http://[", "ftp2://a/b"]
)
def test_an_address_that_leads_nowhere_is_told_in_one_line(path, address):
    with pytest.raises(Unreachable, match="cannot download") as told:
        fetch(address, path, SHA256)
    assert "\n" not in str(told.value) and list(path.parent.iterdir()) == []


# ---- Without a checksum


def test_without_a_checksum_the_files_own_is_written_beside_it(server, path):
    for _ in range(2):
        get(server, path, None)
        assert downloads.noted(path).read_text() == f"{SHA256}  {path.name}\n"
        assert downloads.is_kept(path, None) and alone(path) and len(server.asked) == 1
    path.write_bytes(CONTENT[:-1])
    assert not downloads.is_kept(path, None)
    downloads.noted(path).unlink()
    assert not downloads.is_kept(path, None)


def test_without_a_checksum_a_part_that_ends_before_the_file_does_is_never_the_whole(server, path):
    begun(path).write_bytes(CONTENT[:HALF])
    server.longest = 300_000
    with pytest.raises(Unreachable, match="broken off after 800,000 of 1,000,000 bytes"):
        get(server, path, None)
    assert not path.exists()
    get(server, path, None)
    assert alone(path) and server.asked[-1][1] == "bytes=800000-"
