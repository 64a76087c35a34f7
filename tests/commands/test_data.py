"""`lm-eval-bias data`."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from lm_eval_bias import cli
from lm_eval_bias.data import downloads, sources
from lm_eval_bias.usage import UsageError
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
    made = {
        name: sources.Source(
            name,
            f"someone/{name}",
            name[0] * 40,
            {
                f: sources.File(
                    f"data/{f.replace('_', ' ')}", len(c), hashlib.sha256(c).hexdigest()
                )
                for f, c in contents.items()
            },
        )
        for name, contents in FILES.items()
    }
    monkeypatch.setattr(sources, "names", lambda: list(made))
    monkeypatch.setattr(sources, "source", made.__getitem__)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(sources.MIRROR, f"{server.address}/")
    monkeypatch.delenv(sources.LOCAL, raising=False)
    for name, contents in FILES.items():
        for file, content in contents.items():
            server.files[f"/someone/{name}/{name[0] * 40}/data/{file.replace('_', '%20')}"] = (
                content
            )
    return made


def folder(tmp_path, name):
    return tmp_path / "cache" / "lm-eval-bias" / "official" / name / (name[0] * 40)


def told(capsys, *arguments):
    """The exit status and what was printed, spaces as one."""
    status = cli.main(["data", *arguments])
    return status, [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_fetch_gets_what_is_missing_and_nothing_twice(released, server, capsys, tmp_path):
    status, lines = told(capsys, "fetch")
    assert status == 0 and len(lines) == len(server.asked) == 3
    assert lines[0] == f"one/first.csv: fetched, 8 bytes, {folder(tmp_path, 'one') / 'first.csv'}"
    for name, contents in FILES.items():
        assert {p.name: p.read_bytes() for p in folder(tmp_path, name).iterdir()} == contents
    status, lines = told(capsys, "fetch")
    assert (
        status == 0 and all("is there already" in line for line in lines) and len(server.asked) == 3
    )


def test_a_source_may_be_named(released, server, capsys, tmp_path):
    assert told(capsys, "fetch", "two")[0] == 0 and len(server.asked) == 1
    status, lines = told(capsys, "verify", "two")
    assert (status, lines) == (
        0,
        [f"two/all_of_it.csv ok {folder(tmp_path, 'two') / 'all_of_it.csv'}"],
    )
    with pytest.raises(UsageError, match=r"no source 'too'; did you mean two\?"):
        cli.parser().parse_args(["data", "list", "too"]).run(
            cli.parser().parse_args(["data", "list", "too"])
        )


def test_list_says_where_files_are_and_which_are_missing_or_begun(
    released, server, capsys, tmp_path
):
    told(capsys, "fetch", "two")
    server.breaks_after = 300_000
    assert cli.main(["data", "fetch", "one"]) == 1
    capsys.readouterr()
    assert told(capsys, "list") == (
        0,
        [
            "one: someone/one on GitHub, commit oooooooo; 2 files, 1,000,008 bytes",
            f"{folder(tmp_path, 'one')}: 1 missing",
            "first.csv 8 kept",
            "big.bin 1,000,000 begun, 300,000 bytes",
            "two: someone/two on GitHub, commit tttttttt; 1 file, 7 bytes",
            f"{folder(tmp_path, 'two')}",
            "all_of_it.csv 7 kept",
        ],
    )
    (folder(tmp_path, "two") / "all_of_it.csv").write_bytes(b"another")
    (folder(tmp_path, "one") / "first.csv").write_bytes(b"longer than it was")
    lines = told(capsys, "list")[1]
    # of the same size
    assert (
        lines[2] == "first.csv 8 has 18 bytes: not this file"
        and lines[-1] == "all_of_it.csv 7 kept"
    )


def test_a_broken_fetch_ends_with_one_line_and_the_next_goes_on(released, server, capsys, tmp_path):
    server.breaks_after = 300_000
    assert cli.main(["data", "fetch", "one"]) == 1
    error = capsys.readouterr().err
    assert (
        error.count("\n") == 1
        and "broken off after 300,000 of 1,000,000 bytes" in error
        and "which goes on where it stopped" in error
    )
    server.breaks_after = None
    assert told(capsys, "fetch", "one")[0] == 0 and server.asked[-1][1] == "bytes=300000-"
    assert (folder(tmp_path, "one") / "big.bin").read_bytes() == FILES["one"]["big.bin"]


def test_verify_ends_with_status_1_if_a_file_differs_or_is_missing(
    released, server, capsys, tmp_path
):
    status, lines = told(capsys, "verify")
    assert status == 1 and [line.split()[1] for line in lines[:3]] == ["missing"] * 3
    assert lines[3] == "3 of 3 files missing or another than released; run: lm-eval-bias data fetch"
    told(capsys, "fetch")
    assert told(capsys, "verify")[0] == 0
    (folder(tmp_path, "one") / "first.csv").write_bytes(b"a,b\n1,3\n")
    status, lines = told(capsys, "verify")
    assert (
        status == 1
        and [line.split()[1] for line in lines[:3]] == ["differs", "ok", "ok"]
        and lines[3].startswith("1 of 3 files")
    )
    assert (
        told(capsys, "fetch")[1][0].startswith("one/first.csv: fetched")
        and told(capsys, "verify")[0] == 0
    )


def test_a_folder_of_ones_own_is_listed_and_verified_but_not_filled(
    released, server, capsys, monkeypatch, tmp_path
):
    own = tmp_path / "own"
    (own / "two").mkdir(parents=True)
    (own / "two" / "all_of_it.csv").write_bytes(FILES["two"]["all_of_it.csv"])
    monkeypatch.setenv(sources.LOCAL, str(own))
    assert told(capsys, "verify", "two") == (
        0,
        [f"two/all_of_it.csv ok {own / 'two' / 'all_of_it.csv'}"],
    )
    assert told(capsys, "list")[1][1] == f"{own / 'one'}: 2 missing"
    status, lines = told(capsys, "verify")
    assert (
        status == 1
        and lines[-1] == f"2 of 3 files missing or another than released; put them into {own}"
    )
    assert cli.main(["data", "fetch"]) == 1
    assert (
        f"LM_EVAL_BIAS_DATA is set, so the tasks read the files in {own}" in capsys.readouterr().err
        and server.asked == []
    )


def test_where_it_cannot_be_kept_the_folder_is_named(released, capsys, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cli.main(["data", "fetch"]) == 1
    error = capsys.readouterr().err
    assert (
        "cannot keep" in error
        and "Not a directory; set XDG_CACHE_HOME to another" in error
        and error.count("\n") == 1
    )


def test_an_interrupted_fetch_says_how_to_go_on(released, capsys, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(downloads, "_receive", interrupt)
    assert cli.main(["data", "fetch"]) == 1
    assert (
        capsys.readouterr().err
        == "lm-eval-bias: interrupted; run the command again, which goes on where it stopped\n"
    )


def test_a_bar_begins_where_the_last_call_stopped(monkeypatch):
    import tqdm

    from lm_eval_bias.commands import data

    bars = []

    class Bar(tqdm.tqdm):
        def __init__(self, **more):
            super().__init__(**{**more, "disable": False, "file": open(os.devnull, "w")})  # noqa: SIM115
            bars.append(self)

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    with data.bar("one/big.bin", 1000) as told:
        told(300, None)
        assert (bars[0].n, bars[0].initial, bars[0].total) == (300, 300, 1000)
        told(1000, 1000)
        assert bars[0].n == 1000
    with data.bar("one/big.bin", 1000):
        pass
    assert len(bars) == 1  # none for a file that is there


# ---- A file whose size and checksum nobody knows

UNSEEN = random.Random(3).randbytes(400_000)
OWN = hashlib.sha256(UNSEEN).hexdigest()


@pytest.fixture
def unseen(released, server, monkeypatch):
    """The first source has one more file, of which only the place is known."""
    one = released["one"]
    released["one"] = one._replace(
        files={"unseen.bin": sources.File("data/unseen.bin", None, None), **one.files}
    )
    server.files[f"/someone/one/{'o' * 40}/data/unseen.bin"] = UNSEEN


def test_a_file_without_a_checksum_is_fetched_last_kept_with_its_own_and_called_unverified(
    unseen, server, capsys, tmp_path
):
    kept = folder(tmp_path, "one") / "unseen.bin"
    status, lines = told(capsys, "fetch")
    assert (
        status == 0
        and lines[-1]
        == f"one/unseen.bin: fetched, 400,000 bytes, {kept}, unverified: no checksum is known"
    )
    assert (
        kept.read_bytes() == UNSEEN
        and (kept.parent / "unseen.bin.sha256").read_text() == f"{OWN}  unseen.bin\n"
    )
    assert (
        told(capsys, "fetch")[1][-1].startswith("one/unseen.bin: is there already, 400,000 bytes")
        and len(server.asked) == 4
    )
    lines = told(capsys, "list")[1]
    assert lines[0].endswith("; 3 files, 1,000,008 bytes and 1 file of unknown size")
    assert lines[2] == "unseen.bin ? kept, 400,000 bytes, unverified: no checksum is known"
    assert (
        told(capsys, "verify", "one")[1][0]
        == f"one/unseen.bin unverified: no checksum is known {kept}, sha256 {OWN}"
    )


def test_a_kept_file_that_is_not_what_was_fetched_is_told_and_fetched_again(
    unseen, server, capsys, tmp_path
):
    told(capsys, "fetch")
    kept = folder(tmp_path, "one") / "unseen.bin"
    kept.write_bytes(UNSEEN[:-1])
    status, lines = told(capsys, "verify", "one")
    assert status == 1 and lines[0] == f"one/unseen.bin differs from what was fetched {kept}"
    assert (
        told(capsys, "fetch")[1][-1].startswith("one/unseen.bin: fetched")
        and kept.read_bytes() == UNSEEN
    )


def test_a_part_of_a_file_without_a_checksum_has_not_its_name_and_is_continued(
    unseen, server, capsys, tmp_path
):
    told(capsys, "fetch", "two")
    server.breaks_after = 150_000
    server.files = {path: content for path, content in server.files.items() if "unseen" in path}
    path = folder(tmp_path, "one") / "unseen.bin"
    with pytest.raises(
        UsageError,
        match=r"broken off after 150,000 of 400,000 bytes.*which goes on where it stopped",
    ):
        sources.official_file("one", "unseen.bin")
    assert [p.name for p in path.parent.iterdir()] == ["unseen.bin.part"]
    with pytest.raises(UsageError, match="broken off after 300,000 of 400,000 bytes"):
        sources.official_file("one", "unseen.bin")
    server.breaks_after = None
    assert (
        sources.official_file("one", "unseen.bin").read_bytes() == UNSEEN
        and server.asked[-1][1] == "bytes=300000-"
    )
    assert sorted(p.name for p in path.parent.iterdir()) == ["unseen.bin", "unseen.bin.sha256"]


def test_where_all_had_come_before_the_name_the_server_says_so_and_it_is_fetched_again(
    unseen, server, tmp_path
):
    part = folder(tmp_path, "one") / "unseen.bin.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(UNSEEN)
    assert sources.official_file("one", "unseen.bin").read_bytes() == UNSEEN and not part.exists()


def test_an_answer_that_does_not_say_where_it_ends_is_refused_where_no_checksum_would_tell(
    unseen, server, capsys, tmp_path
):
    server.tells_length = False
    with pytest.raises(
        UsageError, match="the length of the file is unknown, and so is its checksum"
    ):
        sources.official_file("one", "unseen.bin")
    assert not (folder(tmp_path, "one") / "unseen.bin").exists()
    assert sources.official_file("one", "first.csv").read_bytes() == FILES["one"]["first.csv"]


def test_a_file_without_a_checksum_that_cannot_be_had_keeps_nobody_from_the_others(
    unseen, server, capsys, tmp_path
):
    del server.files[f"/someone/one/{'o' * 40}/data/unseen.bin"]
    assert cli.main(["data", "fetch"]) == 1
    out, error = capsys.readouterr()
    assert (
        out.count(": fetched, ") == 3
        and error.count("\n") == 1
        and "unseen.bin (Not Found)" in error
    )


def test_one_in_a_folder_of_ones_own_is_unverified(unseen, capsys, monkeypatch, tmp_path):
    (tmp_path / "own" / "one").mkdir(parents=True)
    path = tmp_path / "own" / "one" / "unseen.bin"
    path.write_bytes(UNSEEN)
    monkeypatch.setenv(sources.LOCAL, str(tmp_path / "own"))
    assert sources.official_file("one", "unseen.bin") == path
    assert (
        told(capsys, "verify", "one")[1][0]
        == f"one/unseen.bin unverified: no checksum is known {path}, sha256 {OWN}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("ranges", [True, False])
def test_the_authors_data_through_the_command_killed_in_the_middle(
    shared, server, tmp_path, ranges
):
    """All files of all sources, from a server with the paths of the releases. The command is killed
    by the system, and run again."""
    releases = [sources.source(name) for name in sources.names()]
    # One file has no copy beside this checkout, and no checksum: this stands in for it.
    contents = {
        (release.name, file): (shared / "official" / release.name / file).read_bytes()
        if about.sha256
        else random.Random(2).randbytes(200_000)
        for release in releases
        for file, about in release.files.items()
    }
    for release in releases:
        for file, about in release.files.items():
            path = about.path.replace(" ", "%20")
            server.files[f"/{release.repository}/{release.commit}/{path}"] = contents[
                release.name, file
            ]
    environment = {k: v for k, v in os.environ.items() if k != sources.LOCAL}
    environment |= {"XDG_CACHE_HOME": str(tmp_path), sources.MIRROR: server.address}
    command = [sys.executable, "-m", "lm_eval_bias.cli", "data"]
    kept = tmp_path / "lm-eval-bias" / "official"

    def parts():
        return list(kept.rglob("*.part"))

    server.ranges, server.stops_after = ranges, 100_000
    running = subprocess.Popen(
        [*command, "fetch", "hbb"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    waited = time.monotonic() + 60
    while not (parts() and parts()[0].stat().st_size >= 50_000):
        assert running.poll() is None and time.monotonic() < waited, running.stderr.read().decode()
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert [p for p in kept.rglob("*") if p.is_file()] == parts()
    server.stops_after = None
    done = subprocess.run([*command, "fetch"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count(": fetched, ") == 16, done.stderr
    assert [
        line.count("unverified: no checksum is known") for line in done.stdout.splitlines()
    ] == [0] * 15 + [1]
    assert parts() == [] and any(asked for _, asked in server.asked)
    verified = subprocess.run([*command, "verify"], env=environment, capture_output=True, text=True)
    assert verified.returncode == 0 and verified.stdout.count(" ok ") == 15
    assert verified.stdout.count("unverified: no checksum is known") == 1
    fetched = {
        (p.parent.parent.name, p.name): p.read_bytes()
        for p in kept.rglob("*")
        if p.is_file() and p.suffix != ".sha256"
    }
    assert fetched == contents and len(list(kept.rglob("*.sha256"))) == 1
