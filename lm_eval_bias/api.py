"""What `import lm_eval_bias` offers, as docs/reference/python.md has it. It is stable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval_bias import catalogue, writing
from lm_eval_bias.results.runs import Place, Runs, find, of_model
from lm_eval_bias.usage import UsageError

if TYPE_CHECKING:
    from pandas import DataFrame

FilePath = str | Path


def read(
    runs: FilePath | Sequence[FilePath] | Mapping[str, FilePath],
    *,
    include_path: Sequence[FilePath] = (),
) -> Runs:
    """Finished runs of folders and files; of a model and task the newest.

    runs: one path, several, or {name: path} to name models. include_path: folders of own tasks.

    >>> runs = leb.read({"base": "runs/base", "tuned": "runs/tuned"})
    """
    several = [runs] if isinstance(runs, FilePath) else runs
    try:
        pairs = several.items() if isinstance(several, Mapping) else [("", p) for p in several]
        places = [Place(Path(path), str(name)) for name, path in pairs]
    except TypeError:
        places = []
    if not places:
        raise UsageError(
            f"read: expected a folder, several or {{name: folder}}, found {runs!r:.60}"
        )
    return find(places, catalogue.measured(include_path))


def compare(runs: Runs, first: str, second: str) -> DataFrame:
    """The primary numbers of two models on the same documents, and the second less the first.

    A task that cannot be compared is a row, too: `why` says why.

    >>> leb.compare(runs, "base", "tuned")[["metric", "difference", "low", "high", "p"]]
    """
    from lm_eval_bias.results import comparison, frames

    runs = _runs(runs)
    one, two = (of_model(runs.runs, str(name), "compare") for name in (first, second))
    names = one[0].model, two[0].model
    return frames.differences(comparison.comparison(one, two, names, runs.answers))


class Drawn:
    """A figure as files, by their endings."""

    def __init__(self, files: Mapping[str, str | bytes]):
        self.files = files

    def _repr_svg_(self) -> str:
        return str(self.files[".svg"])

    def save(self, path: FilePath) -> None:
        """Write the file that the path ends like."""
        for ending, content in self.files.items():
            if str(path).endswith(ending):
                return writing.whole(Path(path), content)
        raise UsageError(f"{path}: expected a file {', '.join(self.files)}")


def figure(runs: Runs, task: str, exhibit: str) -> Drawn:
    """A figure of the report, by its name there.

    A notebook shows it; `save` writes .svg, .png, .pdf, or -column.pdf for one column of two.

    >>> leb.figure(runs, "hbb_ci", "Figure 4").save("figure.pdf")
    """
    from lm_eval_bias.show.page_figures import of_exhibit

    return Drawn(of_exhibit(_runs(runs), task, exhibit))


def evaluate(
    model: Any, tasks: Sequence[str], output: FilePath = "results", name: str = "", **options: Any
) -> Runs:
    """Ask a model as `lm_eval` does, save the run, and read it.

    model: loaded by transformers or by the harness, a name, a folder, or a type with
    model_args={...}. name: of a model that you changed after loading; else it is called as before.
    options: of `lm_eval run`, such as limit=100, apply_chat_template=True, seed=1.

    >>> runs = leb.evaluate(model, ["hbb_ci"], name="tuned", batch_size=8)
    """
    known = catalogue.measured([path for path in [options.get("include_path")] if path])
    from lm_eval_bias.harness.run import run

    return find([Place(run(model, output, name, {"tasks": tasks, **options}), name)], known)


def _runs(runs: Any) -> Runs:
    return runs if isinstance(runs, Runs) else read(runs)
