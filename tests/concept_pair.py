"""A concept pair of HBB with nothing wrong in it, for tests that change one thing."""

GOOD = {
    "id": "time",
    "concept_1": "always on time",
    "concept_2": "always late",
    "context": "The bus to the fair was to leave at eight, and [[X]] had kept the tickets for "
    "everybody.",
    "option_1": "At ten to eight [[X]] stood at the stop, and waved to the first who came round "
    "the corner.",
    "option_2": "At ten past eight the driver saw [[X:obj]] come round the corner, one shoe "
    "still in [[X's]] hand.",
}
