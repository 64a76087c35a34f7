"""The authors' files: found, checked, and what a person is told when they are not there."""

import hashlib
import re
import urllib.error

import pytest

from lm_eval_bias import sources
from lm_eval_bias.usage import UsageError

FILE = "crowd-enVent_joy.tsv"


@pytest.fixture
def release(monkeypatch, tmp_path):
    """A release of one file, whose content is "content"; nothing is downloaded."""
    content = b"content"
    made = sources.Source("empathy", "someone/something", "a" * 40, {FILE: (f"data/{FILE}", hashlib.sha256(content).hexdigest())})
    monkeypatch.setattr(sources, "source", lambda name: made)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(sources.LOCAL, raising=False)
    return content


def serve(monkeypatch, content):
    asked = []

    class Response:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return False

        def read(self):
            return content

    monkeypatch.setattr(sources.urllib.request, "urlopen", lambda address, timeout: asked.append(address) or Response())
    return asked


def test_a_file_is_fetched_once_from_the_pinned_commit(release, monkeypatch):
    asked = serve(monkeypatch, release)
    for _ in range(2):
        assert sources.official_file("empathy", FILE).read_bytes() == release
    assert asked == [f"https://raw.githubusercontent.com/someone/something/{'a' * 40}/data/{FILE}"]


def test_a_file_with_another_checksum_is_refused(release, monkeypatch):
    serve(monkeypatch, b"something else")
    with pytest.raises(UsageError, match="has another checksum than expected"):
        sources.official_file("empathy", FILE)


def test_without_network_the_error_says_what_to_do(release, monkeypatch):
    def offline(address, timeout):
        raise urllib.error.URLError("no route")

    monkeypatch.setattr(sources.urllib.request, "urlopen", offline)
    with pytest.raises(UsageError, match=rf"cannot download .*no route.* put the file into a folder as empathy/{FILE} and set LM_EVAL_BIAS_DATA"):
        sources.official_file("empathy", FILE)


def test_a_folder_of_ones_own_comes_first_and_is_checked(release, monkeypatch, tmp_path):
    monkeypatch.setenv(sources.LOCAL, str(tmp_path))
    with pytest.raises(UsageError, match="is missing; LM_EVAL_BIAS_DATA must be a folder with"):
        sources.official_file("empathy", FILE)
    (tmp_path / "empathy").mkdir()
    (tmp_path / "empathy" / FILE).write_bytes(b"another")
    with pytest.raises(UsageError, match="its checksum differs"):
        sources.official_file("empathy", FILE)
    (tmp_path / "empathy" / FILE).write_bytes(release)
    assert sources.official_file("empathy", FILE) == tmp_path / "empathy" / FILE


def test_commit_and_checksums_are_those_of_the_design(shared):
    """And the copies beside this checkout are these files."""
    design = (shared / "DESIGN.md").read_text()
    released = sources.source("empathy")
    assert released.repository in design and released.commit in design and len(released.files) == 12
    for name, (path, sha256) in released.files.items():
        assert path == f"data/{name}" and re.fullmatch("[0-9a-f]{64}", sha256)
        assert hashlib.sha256((shared / "official" / "empathy" / name).read_bytes()).hexdigest() == sha256
