"""Files come whole or not at all."""

import hashlib
import random

import pytest

from lm_eval_bias.data import downloads
from lm_eval_bias.data.downloads import Unreachable, fetch
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


def get(server, path, expected=SHA256):
    return fetch(f"{server.address}/file", path, expected)


def alone(path):
    """Whether the file is there, whole, and nothing beside it."""
    return path.read_bytes() == CONTENT and [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("expected", [SHA256, None])
def test_a_file_is_fetched_or_nothing_is_left_of_it(server, path, expected):
    server.breaks_after = HALF
    with pytest.raises(Unreachable, match=r"cannot download http\S+/file \(.*500000 bytes read"):
        get(server, path, expected)
    assert list(path.parent.iterdir()) == []
    server.breaks_after = None
    get(server, path, expected)
    assert alone(path) and downloads.is_kept(path, expected)


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


def test_a_server_that_says_nothing_is_not_waited_for_forever(server, path, monkeypatch):
    monkeypatch.setattr(downloads, "SECONDS", 0.3)
    server.stops_after = HALF
    with pytest.raises(Unreachable, match="timed out"):
        get(server, path)
    server.stops_after = None
    get(server, path)
    assert alone(path)


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
