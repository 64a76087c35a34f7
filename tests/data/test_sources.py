"""The authors' files: found, checked, and what a person is told when they are not there."""

import hashlib
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

import pytest

from lm_eval_bias.data import sources
from tests.mistakes import refused
from tests.serving import serving

FILE = "crowd-enVent_joy.tsv"


@pytest.fixture
def release(monkeypatch, tmp_path):
    """A release of one file, whose content is "content"; nothing is downloaded."""
    content = b"content"
    file = sources.File(f"data/{FILE}", len(content), hashlib.sha256(content).hexdigest())
    made = sources.Source("empathy", "someone/something", "a" * 40, {FILE: file})
    monkeypatch.setattr(sources, "source", lambda name: made)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(sources.LOCAL, raising=False)
    return content


found = partial(sources.official_file, "empathy", FILE)
PLACE = f"/someone/something/{'a' * 40}/data/{FILE}"


def test_a_file_that_is_not_there_is_told_with_its_address(release, monkeypatch):
    """And nobody is sent to look at the network, which has answered."""
    message = (
        rf"cannot download http://127.0.0.1:\d+{PLACE} \(Not Found\); put a copy of it into a "
        rf"folder as empathy/{FILE} and set LM_EVAL_BIAS_DATA"
    )
    with serving() as server, refused(message) as error:
        monkeypatch.setenv(sources.MIRROR, server.address)
        found()
    assert "network" not in str(error.value)


def test_without_network_the_error_says_what_to_do(release, monkeypatch):
    def offline(address, timeout):
        raise urllib.error.URLError("no route")

    monkeypatch.setattr(urllib.request, "urlopen", offline)
    message = (
        rf"cannot download .*no route.*; check the network .* put the file into a folder as "
        rf"empathy/{FILE} and set LM_EVAL_BIAS_DATA"
    )
    with refused(message):
        found()


def test_a_folder_of_ones_own_comes_first_and_is_checked(release, monkeypatch, tmp_path):
    monkeypatch.setenv(sources.LOCAL, str(tmp_path))
    with refused("is missing; LM_EVAL_BIAS_DATA must be a folder with"):
        found()
    (tmp_path / "empathy").mkdir()
    (tmp_path / "empathy" / FILE).write_bytes(b"another")
    with refused("its checksum differs"):
        found()
    (tmp_path / "empathy" / FILE).write_bytes(release)
    assert found() == tmp_path / "empathy" / FILE


@pytest.mark.parametrize("name", sources.names())
def test_commits_sizes_and_checksums_are_those_of_the_design(shared, name):
    """And the copies beside this checkout are these files."""
    design = (shared / "DESIGN.md").read_text()
    released = sources.source(name)
    assert released.repository in design and released.commit in design
    for file, about in released.files.items():
        assert Path(about.path).name.replace(" ", "_") == file
        content = (shared / "official" / name / file).read_bytes()
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (about.sha256, about.bytes)
        if name != "empathy":  # of whose twelve files the design does not print the checksums
            assert f"| {about.sha256[:8]} |" in design
