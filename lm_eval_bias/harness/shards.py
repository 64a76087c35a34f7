"""One part of a task's documents, for runs on several machines: `--metadata shard=2/4`."""

from collections.abc import Mapping, Sequence
from typing import Any

from lm_eval_bias.measure import CHECK, clusters_of
from lm_eval_bias.usage import SHARD, UsageError


def shard(
    documents: Sequence[Mapping[str, Any]], columns: Sequence[str], part: int, parts: int
) -> list[int]:
    """The places of a part's documents, in their order.

    columns: of a clustering, whose clusters stay whole. Clusters are sorted by what several of them
    have in common, and dealt in turns. UsageError for more parts than clusters.
    """
    if lacking := [column for column in columns if column not in documents[0]]:
        raise UsageError(
            f"{SHARD}: the measure clusters records by {lacking[0]!r}, which the documents need as "
            "a column, too"
        )
    clusters: dict[Any, list[int]] = {}
    name: Any
    for i, document in enumerate(documents):
        name = tuple(clusters_of(document, columns)) if columns else i
        if document.get(CHECK):  # all in the part of the first document
            name = next(iter(clusters))
        clusters.setdefault(name, []).append(i)
    if parts > len(clusters):
        what = f"clusters ({', '.join(columns)})" if columns else "documents"
        raise UsageError(
            f"{SHARD}={part}/{parts} in --metadata: expected at most {len(clusters)} parts, since "
            f"the task has {len(clusters)} {what}, and a part takes whole ones"
        )
    places = list(clusters.values())
    strata = []
    for column in documents[0]:
        try:
            values = [frozenset(documents[i][column] for i in place) for place in places]
        except TypeError:  # lists and mappings
            continue
        ranks: dict[frozenset[Any], int] = {}
        strata.append([ranks.setdefault(value, len(ranks)) for value in values])
    # Of a name that nearly every cluster has for itself nothing can be shared out.
    shared = sorted((stratum for stratum in strata if 2 * max(stratum) < len(stratum)), key=max)
    order = sorted(range(len(places)), key=lambda i: [stratum[i] for stratum in shared])
    return sorted(i for cluster in order[part - 1 :: parts] for i in places[cluster])
