"""What an exhibit names, held against the tables that a summary made: a key that no row has is a
slip, which `exhibit.rows` shows as empty."""

from lm_eval_bias import catalogue
from lm_eval_bias.data import paper_values
from lm_eval_bias.exhibit import Numbers, Rows, raw_rows, rows

TASKS = list(catalogue.tasks())


def keys(exhibit):
    """What columns and figure name of the rows."""
    named = [column.name for column in exhibit.columns]
    figure = exhibit.figure
    if figure is not None:
        named += (figure.x, figure.y, figure.colour, figure.facet, figure.to)
        named += (figure.low, figure.high, figure.label, figure.mask)
        named += (*(figure.five or ()), *figure.order)
    return list(dict.fromkeys(filter(None, named)))


def slips(exhibit, tables):
    """What an exhibit names that the tables have not, a line each."""
    source = exhibit.source
    if isinstance(source, Rows) and (table := tables.get(source.table)):
        there = {key for row in table for key in row}
        if lacking := [key for key in source.where if key not in there]:
            return [f"{exhibit.name}: the table {source.table} has no column {lacking}"]
    if not (found := raw_rows(exhibit, tables)):
        lacks = f"{exhibit.name}: no row, and nothing said of what it needs"
        return [] if exhibit.needs else [lacks]
    there = {key for row in found for key in row}
    return [f"{exhibit.name}: no row has {key}" for key in keys(exhibit) if key not in there]


def compared(measure):
    """(exhibit, cell) for each published cell that stands beside an exhibit and is compared with a
    task of the measure."""
    like = (task for task in TASKS if task.measure and task.measure.exhibits is measure.exhibits)
    tasks = {task.name for task in like}
    for exhibit in measure.exhibits:
        if exhibit.paper_values:
            paper, *names = exhibit.paper_values
            for table in paper_values.tables(paper):
                for cell in table.cells if table.name in names else ():
                    if tasks & {comparison.task for comparison in cell.comparisons}:
                        yield exhibit, cell


def place(exhibit, cell, tables):
    """(row, column) of a published cell in an exhibit; None where it finds none."""
    source, shown = exhibit.source, [column.name for column in exhibit.columns]
    found = rows(exhibit, tables)
    if isinstance(source, Numbers):
        columns = [cell.metric] if cell.metric in shown else []
        group = source.whole if cell.group is None else cell.group
        found = [row for row in found if source.by is None or row[source.by] == group]
    elif cell.place is not None and isinstance(source, Rows) and cell.place.table == source.table:
        columns = [cell.place.column] if cell.place.column in shown else []
        found = [
            row
            for row in found
            if all(row.get(key) == value for key, value in cell.place.row.items())
        ]
    else:
        return None
    return (found[0], columns[0]) if columns and len(found) == 1 else None
