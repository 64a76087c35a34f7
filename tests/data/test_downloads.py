"""Files come whole or not at all."""

import hashlib
import random
from functools import partial

import pytest

from lm_eval_bias.data import downloads
from lm_eval_bias.data.downloads import Unreachable, fetch
from tests.mistakes import refused
from tests.serving import serving

SIZE = 1_000_000
CONTENT = random.Random(0).randbytes(SIZE)
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


@pytest.fixture
def get(server, path):
    """Fetches the file."""
    return partial(fetch, f"{server.address}/file", path, SHA256, SIZE)


def alone(path):
    """Whether the file is there, whole, and nothing beside it."""
    return path.read_bytes() == CONTENT and [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_file_is_fetched_or_nothing_is_left_of_it(server, path, get):
    server.breaks_after = HALF
    with pytest.raises(Unreachable, match=r"cannot download http\S+/file \(.*500000 bytes read"):
        get()
    assert list(path.parent.iterdir()) == []
    server.breaks_after = None
    get()
    assert alone(path) and downloads.is_kept(path, SHA256)


@pytest.mark.parametrize("content", [b"404, but politely", CONTENT + b"x", CONTENT[1:] + b"x"])
def test_another_file_is_refused_and_nothing_is_left_of_it(server, path, content, get):
    server.files["/file"] = content
    with refused("has another size or checksum than expected; do not"):
        get()
    assert list(path.parent.iterdir()) == []


def test_an_endless_file_ends_at_its_size(server, path, get):
    """Of which no more than a byte beyond is read."""
    server.endless = b"x" * 65536
    with refused("another size"):
        get()
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("of", ["headers", "body"])
def test_a_byte_now_and_then_is_not_waited_for_beyond_the_time(server, path, of, get):
    server.drips = of
    with pytest.raises(Unreachable, match=r"\((not whole within 0.5 seconds|timed out)\)"):
        get(seconds=0.5)
    assert list(path.parent.iterdir()) == []


def test_a_server_that_sends_elsewhere_is_followed_but_not_for_ever(server, path, get):
    server.sends_to = {"/file": "/there", "/loop": "/loop"}
    server.files["/there"] = CONTENT
    get()
    assert alone(path)
    server.sends_to["/mine"] = path.as_uri()
    for name, cause in (("loop", "infinite loop"), ("mine", "is not allowed")):
        with pytest.raises(Unreachable, match=cause) as error:
            fetch(f"{server.address}/{name}", path, SHA256, SIZE)
        assert "\n" not in str(error.value)


def test_links_that_wait_there_are_not_written_through(path, tmp_path, get):
    (tmp_path / "precious").write_text("precious")
    for name in (path.name, f"{path.name}.part", f".{path.name}-"):
        (path.parent / name).symlink_to(tmp_path / "precious")
    get()
    assert path.read_bytes() == CONTENT and not path.is_symlink()
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_spoilt_file_is_replaced_and_only_by_a_good_one(server, path, get):
    path.write_bytes(b"spoilt")
    server.refuses = 503
    with pytest.raises(Unreachable, match=r"\(Service Unavailable\)"):
        get()
    assert [p.read_bytes() for p in path.parent.iterdir()] == [b"spoilt"]
    server.refuses = None
    get()
    assert alone(path)


def test_a_folder_that_cannot_be_written_is_told(server, tmp_path):
    (tmp_path / "file").write_text("a file where the folder should be")
    with refused(r"cannot write \S+/file/file.csv: "):
        fetch(f"{server.address}/file", tmp_path / "file" / "file.csv", SHA256, SIZE)


@pytest.mark.parametrize(
    "address", ["nowhere", "http://127.0.0.1:1/file", "http://[", "ftp2://a/b"]
)
def test_an_address_that_leads_nowhere_is_told_in_one_line(path, address):
    with pytest.raises(Unreachable, match="cannot download") as told:
        fetch(address, path, SHA256, 1)
    assert "\n" not in str(told.value) and list(path.parent.iterdir()) == []
