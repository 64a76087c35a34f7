"""What must hold of the exhibits of any measure, given the tables of a run: each name is there,
each cell in print has its place."""

from exhibit_slips import TASKS as ALL_TASKS, compared, place, slips

from lm_eval_bias.exhibit import rows
from lm_eval_bias.measure import summarise, tables

TASKS = {task.name: task for task in ALL_TASKS}


def run_of(task, docs, result, **options):
    """The tables of a run in which each document has that result."""
    measure = TASKS[task].measure
    records = [measure.record(doc, result(doc)) for doc in docs]
    return tables(measure, summarise(measure, records, options))


def shown(task, name, run):
    """The rows of the exhibit of that name."""
    (exhibit,) = [e for e in TASKS[task].measure.exhibits if e.name == name]
    return rows(exhibit, run)


def missing(task, run):
    """The names of the exhibits without rows."""
    return {e.name for e in TASKS[task].measure.exhibits if not rows(e, run)}


def assert_cells_have_a_place(task, run, but=()):
    """Each cell in print that an exhibit shows of the task has a column there, and its row in the
    run, and no exhibit names what the run has not; returns how many cells.

    but: exhibits whose rows a run need not have."""
    found = 0
    assert [slip for e in TASKS[task].measure.exhibits for slip in slips(e, run)] == []
    for e, cell in compared(TASKS[task].measure):
        if e.name not in but and task in {comparison.task for comparison in cell.comparisons}:
            row, column = place(e, cell, run)
            units = {column.name: column.unit for column in e.columns}
            assert units[column] == cell.unit and isinstance(row[column], float), (e.name, cell)
            found += 1
    return found
