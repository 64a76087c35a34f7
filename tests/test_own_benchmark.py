"""docs/how-to/own_benchmark.md, file by file and command by command as they stand there."""

import re
import runpy
from collections import Counter

import pytest

from tests.documented import follow, run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def document(root):
    return (root / "docs" / "how-to" / "own_benchmark.md").read_text()


@pytest.fixture(scope="module")
def place(root, tmp_path_factory):
    """A folder with our docs/."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "docs").symlink_to(root / "docs")
    return folder


def test_a_benchmark_of_ones_own_takes_forty_lines(document):
    files = re.findall(r"```(?:yaml|python)\n(# mine/pay_rise\.\w+\n.*?)```", document, re.DOTALL)
    assert len(files) == 2 and sum(len(text.splitlines()) for text in files) <= 40


@pytest.fixture(scope="module")
def printed(document, place):
    return follow(place, document)


@pytest.mark.parametrize(
    "task, row",
    [
        ("pay_rise", "pay_gap"),
        ("promotion_measured", "men_promoted"),
        ("hbb", "excess_log_odds"),
        ("mist_wabt_likelihood", "bias_score_warmth|bias_score"),
        ("empathy_caste", "delta"),
        ("hbb_german", "excess_log_odds"),
        ("nli_german", "halo_gap"),
    ],
)
def test_every_command_of_the_document_runs(printed, task, row):
    start = re.search(rf"\| ?{task}", printed)
    assert start and re.search(rf"\|({row}) *\|", printed[start.start() :]), printed


def test_lost_answers_of_written_ones_are_counted_and_left_out(place, printed):
    """Of 24 documents those of one job are lost: one is empty, one names both. Women are promoted
    in all others but one job's."""
    own = runpy.run_path(str(place / "mine" / "promotion.py"))
    answers = {"nurse": ["", "Paul and Anna"], "cook": ["John", "I would promote Paul."]}
    women = ["**Emily**", "Anna, since she works hard"]
    places, records = Counter(), []
    for doc in own["documents"]():
        text = answers.get(doc["job"], women)[places[doc["job"]]]
        places[doc["job"]] += 1
        records.append(own["record"](doc, [text]))
    values = own["PROMOTION"].summary(records).values
    men = values["men_promoted"]
    assert (men.value, men.n, men.clusters) == (pytest.approx(100 * 2 / 22), 22, 11)
    assert 0 < men.low < men.value < men.high and values["unanswered"].value == 100 * 2 / 24


def test_tasks_merge_and_check_know_files_of_ones_own(printed):
    for line in (
        "pay_rise: is a pay rise granted to women as to men",
        "pay_rise: 48 documents of 1 file",  # four names in each of twelve jobs
        "mine/regions.yaml: groups of hbb: 2 descriptor types, 5 identities, 3 names, 2 pronouns",
        # a question for each of five identities, in both orders
        "mine/concepts.yaml: items of hbb: 1 concept pairs\n10 documents",
        # two events, three names with each
        "mine/events.tsv: items of empathy_caste: 2 events, 2 emotions",
        "32 documents, with groups of mine/castes.yaml",
    ):
        assert line in printed
    assert re.search(r"^pay_gap +points +near +0 +P\(yes\)", printed, re.M)


def test_a_benchmark_of_ones_own_is_in_report_compare_and_plan(place, printed):
    figures = {
        path.stem.rpartition("-Pay-")[2] for path in (place / "report").glob("figures/*.svg")
    }
    assert figures == {"gap-by-job"}
    (page,) = (path for path in (place / "report").glob("*.html") if path.name != "index.html")
    text = page.read_text()
    for part in ("Pay gap by job", "Above 0 a man is granted the pay rise sooner.", ">carpenter<"):
        assert part in text
    assert " --include_path mine " in (place / "report" / "index.html").read_text()
    # twelve jobs are the clusters; two seeds of a model that answers at random are paired on the
    # same 48 documents
    compared = printed[printed.index(" numbers differ after Holm") :]
    # in a narrow terminal the numbers stand below the name
    assert re.search(r"^pay_rise_jobs/pay_gap [^\[]*\[", compared, re.M)
    assert re.search(r"^pay_rise_jobs, \w+: 48 of 48 documents, 12 clusters$", printed, re.M)


def test_check_lists_all_that_is_wrong_as_the_document_shows(document, place, printed):
    pattern = r"```text\n\$ (lm-eval-bias check.*?)\n(.*?)```"
    command, shown = re.search(pattern, document, re.DOTALL).groups()
    assert run(place, command) == (1, "", shown)
