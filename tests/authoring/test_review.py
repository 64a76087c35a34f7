"""`lm-eval-bias items review`: what the server gives, to whom, and what it saves."""

import http.client
import json
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import webbrowser
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from concept_pair import GOOD

from lm_eval_bias import cli
from lm_eval_bias.authoring import review
from lm_eval_bias.authoring.drafts import review_of
from lm_eval_bias.authoring.pipeline import pipeline
from lm_eval_bias.authoring.review import HOST, Conflict, Refusal, Review, server
from lm_eval_bias.usage import UsageError
from tests.browser import chromium
from tests.cut_off import cut_off

HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
ITEMS = [
    GOOD,
    {**GOOD, "id": "two"},
    {**GOOD, "id": "three", "context": f"{HOSTILE} The bus was full, and [[X]] stood."},
]
REFUSED = {"id": "four", "stereotype": "Sentence 1: ... Sentence 2: ..."}


@pytest.fixture
def file(tmp_path):
    """Three items, and a fourth that a check rejected, as the pipeline leaves them."""
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in ITEMS))
    step = {"step": "bias summary", "try": 1, "prompt": "Why?"}
    lines = [{"journal": 1, "pipeline": "hbb"}]
    for item in ITEMS:
        row = {"id": item["id"], "stereotype": "..."}
        lines.append({**step, "row": item["id"], "given": row, "answer": HOSTILE, "found": {}})
    lines.append({**step, "row": "four", "given": REFUSED, "answer": "", "refused": ["a", "b"]})
    journal = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "items.journal.jsonl").write_text(journal)
    return path


def given(review, **decisions):
    """What the page sends, with decisions by id."""
    return [
        {"fields": dict(e["fields"]), "decision": decisions.get(e["fields"]["id"], e["decision"])}
        for e in review.entries
    ]


def ids(file):
    return [json.loads(line)["id"] for line in file.read_text().splitlines()]


# ---- What is saved


def test_the_entries_are_the_items_and_what_a_check_rejected_with_every_steps_text(file):
    review = Review(file)
    decisions = [(e["fields"]["id"], e["decision"]) for e in review.entries]
    assert decisions == [*((id, "open") for id in ("time", "two", "three")), ("four", "refused")]
    assert [step["answer"] for step in review.entries[0]["steps"]] == [HOSTILE]
    assert review.entries[3]["fields"] == {"id": "four"}
    assert review.entries[3]["steps"][0]["refused"] == "a: b"


def test_rejected_items_leave_the_file_and_can_be_taken_back(file):
    review = Review(file)
    saved = review.save(0, given(review, time="accepted", two="rejected"))
    assert saved == {"version": 1, "message": "Saved items.jsonl: 2 items"}
    assert ids(file) == ["time", "three"]
    assert review.summary().endswith("1 accepted, 1 rejected, 1 undecided, 1 refused by a check")
    again = Review(file)  # another day
    assert [e["decision"] for e in again.entries] == ["accepted", "rejected", "open", "refused"]
    assert again.entries[1]["steps"] == review.entries[1]["steps"]
    again.save(0, given(again, two="accepted"))
    assert ids(file) == ["time", "two", "three"]


def test_an_edited_item_is_saved_as_it_was_edited_and_items_takes_it(file, capsys):
    review = Review(file)
    sent = given(review, three="accepted", four="accepted")
    sent[2]["fields"]["context"] = "  The bus was full,\nand [[X]] stood. "
    # one that a check had rejected, written by the reviewer
    sent[3]["fields"] = {**GOOD, "id": "four"}
    review.save(0, sent)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["id"] for row in rows] == ["time", "two", "three", "four"]
    assert rows[2]["context"] == "The bus was full, and [[X]] stood."
    assert cli.main(["check", str(file), "--for", "hbb"]) == 0
    assert "4 concept pairs" in capsys.readouterr().out


def test_an_accepted_item_with_a_problem_is_not_saved_and_the_problem_named(file):
    review, before = Review(file), file.read_text()
    sent = given(review, two="accepted")
    sent[1]["fields"]["option_2"] = "Nobody came round the corner, and the driver left."
    with pytest.raises(Refusal, match=r"two: option_2: .*is missing") as refusal:
        review.save(0, sent)
    assert list(refusal.value.problems) == [1]
    assert file.read_text() == before and review.version == 0
    sent[1]["decision"] = "open"
    message = "Saved items.jsonl: 2 items; 1 undecided ones with problems are left out"
    assert review.save(0, sent)["message"] == message and ids(file) == ["time", "three"]


def test_of_two_with_one_id_the_accepted_one_stays(file):
    review = Review(file)
    sent = given(review, two="accepted")
    sent[1]["fields"]["id"] = "time"
    assert "1 undecided ones" in review.save(0, sent)["message"]
    assert [e["decision"] for e in review.entries[:2]] == ["open", "accepted"]
    assert ids(file) == ["time", "three"]


def test_nothing_is_saved_over_what_somebody_else_saved(file):
    review, other = Review(file), Review(file)
    other.save(0, given(other, time="rejected"))
    with pytest.raises(Conflict, match="saved elsewhere"):
        review.save(0, given(review, two="rejected"))
    with pytest.raises(Conflict):
        other.save(0, given(other))  # the page of before the save
    assert ids(file) == ["two", "three"]
    file.write_text(json.dumps(GOOD) + "\n")
    changed = r"has changed since its review; .* move items\.review\.json away"
    with pytest.raises(UsageError, match=changed):
        Review(file)


def test_after_a_kill_at_any_write_every_decision_is_there(file, tmp_path):
    """Those of the save before, or all of this one; the page shows them as not saved where the
    items file is still that of before."""
    seen, items = set(), file.read_text()
    for at in range(1, 12):
        file.write_text(items)
        review_of(file).unlink(missing_ok=True)
        review = Review(file)
        review.save(0, given(review, time="accepted", two="rejected"))
        sent = given(review, time="rejected", two="accepted")
        cut_off(partial(review.save, 1, sent), tmp_path, at)
        again = Review(file)
        decided = [e["fields"]["id"] for e in again.entries if e["decision"] == "accepted"]
        seen.add((*decided, ids(file)[0], again.state()["unsaved"]))
        again.save(0, given(again))
        assert ids(file) == [*decided, "three"] and not Review(file).unsaved
    assert seen == {("time", "time", False), ("two", "time", True), ("two", "two", False)}


def test_without_a_journal_somebody_must_say_whose_items_they_are(file, tmp_path):
    (tmp_path / "items.journal.jsonl").unlink()
    with pytest.raises(UsageError, match="name the benchmark with --for NAME"):
        Review(file)
    assert [e["decision"] for e in Review(file, "hbb").entries] == ["open"] * 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent.jsonl", "cannot read .*absent.jsonl"),
        ("items.csv", "expected a file that ends in .jsonl"),
    ],
)
def test_a_file_that_cannot_be_reviewed_is_told(tmp_path, name, message):
    with pytest.raises(UsageError, match=message):
        Review(tmp_path / name, "hbb")


# ---- To whom


@contextmanager
def served(file):
    made, address = server(Review(file))
    made.daemon_threads = False  # so that closing it waits for them
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    assert made.server_address[0] == "127.0.0.1"
    try:
        yield made.server_address[1], address.partition("#")[2], address
    finally:
        made.shutdown()
        made.server_close()
        thread.join()


def ask(port, method, path, body=None, **headers):
    connection = http.client.HTTPConnection(HOST, port, timeout=30)
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read().decode()


def test_the_pages_hold_no_data_and_may_load_nothing_but_themselves(file):
    with served(file) as (port, token, address):
        assert address.startswith("http://127.0.0.1:")
        for path in ("/", "/page.css", "/page.js"):
            status, headers, text = ask(port, "GET", path)
            assert status == 200 and "Set-Cookie" not in headers
            assert token not in text and GOOD["context"] not in text
            assert headers["Content-Security-Policy"].split("; ") == [
                "default-src 'none'",
                *(f"{kind}-src 'self'" for kind in ("script", "style", "connect")),
                *(f"{kind} 'none'" for kind in ("base-uri", "form-action", "frame-ancestors")),
            ]
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Cache-Control"] == "no-store"
            # no address elsewhere, nothing made of text
            assert not re.search(r"://|innerHTML|insertAdjacentHTML|eval\(", text)
            # nothing in the page that the policy would have to allow
            assert path != "/" or not re.search(r"style=|<script>| on(?! )", text)


# Status, request, body, headers: guesses, another name for this machine, what a form can send.
REQUESTS = """\
403 GET /entries null
403 GET /entries null X_Review_Token=guess
403 GET /entries null X_Review_Token=TOKEN Host=evil.example
403 GET /entries null X_Review_Token=TOKEN Origin=http://evil.example
403 POST /save {"version":0,"entries":[]} Content_Type=application/json
415 POST /save {"version":0,"entries":[]} X_Review_Token=TOKEN Content_Type=text/plain
403 POST /save [] X_Review_Token=TOKEN Content_Type=application/json Origin=null
409 POST /save {"version":0,"entries":[]} X_Review_Token=TOKEN Content_Type=application/json
400 POST /save {"version":0} X_Review_Token=TOKEN Content_Type=application/json
400 POST /save [] X_Review_Token=TOKEN Content_Type=application/json
404 POST /entries {} X_Review_Token=TOKEN Content_Type=application/json
404 GET /../../etc/passwd null X_Review_Token=TOKEN
200 GET /entries null X_Review_Token=TOKEN"""


def test_only_its_own_page_with_the_token_gets_an_answer(file):
    before = file.read_text()
    with served(file) as (port, token, _):
        for line in REQUESTS.replace("TOKEN", token).splitlines():
            status, method, path, body, *headers = line.split()
            sent = dict(header.split("=", 1) for header in headers)
            got, _, text = ask(port, method, path, json.loads(body), **sent)
            assert got == int(status), (line, text)
            assert (HOSTILE[:4] in text) == (got == 200) and file.read_text() == before


def test_over_the_wire_an_item_is_looked_at_and_saved(file):
    with served(file) as (port, token, _):
        headers = {"X_Review_Token": token, "Origin": f"http://127.0.0.1:{port}"}
        headers["Content_Type"] = "application/json"

        def send(path, body):
            return json.loads(ask(port, "POST", path, body, **headers)[2])

        state = json.loads(ask(port, "GET", "/entries", X_Review_Token=token)[2])
        assert state["fields"] == list(pipeline("hbb").fields) and len(state["entries"]) == 4
        seen = send("/look", {"fields": GOOD})
        assert seen["problems"] == [] and len(seen["shown"]) == 2
        seen = send("/look", {"fields": {**GOOD, "option_1": ""}})
        assert seen["problems"] == ["option_1 is missing"] and seen["shown"] == []
        state["entries"][1]["decision"] = "rejected"
        assert send("/save", {"version": 0, "entries": state["entries"]})["version"] == 1
    assert ids(file) == ["time", "three"]


@pytest.mark.slow
def test_the_command_prints_the_address_and_ends_with_a_summary(file):
    command = [sys.executable, "-m", "lm_eval_bias", "items", "review", str(file)]
    command.append("--no_browser")
    # A shell's background job ignores SIGINT, and its children with it.
    usual = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=usual)
    assert process.stdout.readline().startswith(f"{file}: 4 items to review at http://127.0.0.1:")
    process.send_signal(signal.SIGINT)
    last = process.communicate(timeout=60)[0].splitlines()[-1]
    assert last == f"{file}: 0 accepted, 0 rejected, 3 undecided, 1 refused by a check"
    assert process.returncode == 0


def test_nothing_is_printed_about_a_dropped_connection(file, capfd):
    with served(file) as (port, *_), socket.create_connection((HOST, port)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(b"GET /")
        connection.close()
    assert capfd.readouterr().err == ""


# ---- In a browser


@pytest.mark.slow
def test_a_person_reviews_in_a_browser_with_the_keyboard(file):
    """Accept the first, reject the second, edit and accept the third, save."""
    expect = pytest.importorskip("playwright.sync_api").expect
    with served(file) as (port, _, address), chromium() as browser:
        tab, requests, errors = browser.new_page(), [], []
        tab.on("request", lambda request: requests.append(request.url))
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.on("console", lambda message: errors.append(message.text))

        def press(*keys):
            for key in keys:
                tab.keyboard.press(key)

        tab.goto(address)
        expect(tab.locator("#list li")).to_have_count(4)
        expect(tab.locator("#shown pre")).to_have_count(2)
        press("a")
        expect(tab.locator("#id")).to_have_text("two")
        press("r")
        expect(tab.locator("#id")).to_have_text("three")
        # What a model wrote stands there as text, and has made no element and run no script.
        expect(tab.locator("#shown pre").first).to_contain_text("onerror=")
        assert tab.locator("img").count() == 0 and tab.locator("script").count() == 1
        assert tab.input_value("[name=context]").startswith("<img")
        press("e")
        expect(tab.locator("[name=context]")).to_be_focused()
        press("Control+a")
        tab.keyboard.insert_text("The bus was full, and [[X]] stood.")
        press("a", "Escape", "a")  # a letter in the field, then a decision
        expect(tab.locator("#state")).to_have_text("accepted")
        assert tab.title().startswith("* ")
        press("Control+s")
        expect(tab.locator("#message")).to_contain_text("Saved")
        counts = tab.text_content("#counts")
        assert counts == "2 accepted, 1 rejected, 1 refused by a check; saved"
        assert tab.title() == "Review of items.jsonl"
    assert requests and all(url.startswith(f"http://127.0.0.1:{port}/") for url in requests)
    assert not [error for error in errors if "favicon" not in error]
    assert ids(file) == ["time", "three"]
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert rows[1]["context"] == "The bus was full, and [[X]] stood.a"


@pytest.mark.slow
def test_what_is_typed_while_a_save_is_under_way_is_not_saved(file, monkeypatch):
    """The next save saves it, also one that was asked for before the first had its answer."""
    expect = pytest.importorskip("playwright.sync_api").expect
    go_on, save = threading.Semaphore(0), Review.save
    monkeypatch.setattr(Review, "save", lambda *given: go_on.acquire() and save(*given))
    with served(file) as (_, _, address), chromium() as browser:
        tab = browser.new_page()
        tab.goto(address)
        for text in ("first", "second"):
            tab.fill("[name=id]", text)
            tab.keyboard.press("Control+s")
        tab.fill("[name=id]", "third")
        go_on.release()
        expect(tab.locator("#message")).to_contain_text("Saved")
        expect(tab.locator("#counts")).to_have_text(re.compile("; not saved$"))
        assert tab.title().startswith("* ")
        go_on.release()
        expect(tab.locator("#counts")).to_have_text(re.compile("; saved$"))
    assert ids(file)[0] == "third"


def test_the_token_is_not_among_the_arguments_of_the_browser(file, monkeypatch, capsys):
    """It is opened by way of a file that nobody else can read, and that is gone afterwards."""
    seen = []

    def opened(address):
        path = Path(urlsplit(address).path)
        seen.append((address, path.read_text(), stat.S_IMODE(path.parent.stat().st_mode), path))
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", opened)
    monkeypatch.setattr(review.secrets, "token_urlsafe", lambda _: "SECRET")
    assert cli.main(["items", "review", str(file)]) == 0
    ((address, text, mode, path),) = seen
    assert "SECRET" not in address and "#SECRET" in text and mode == 0o700 and not path.exists()
    assert "#SECRET" in capsys.readouterr().out
