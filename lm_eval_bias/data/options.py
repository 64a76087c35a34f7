"""What `--metadata` may set for the tasks of a benchmark, as one class."""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from lm_eval_bias.data.schema import OPTIONS, ItemFile, checked
from lm_eval_bias.usage import Check, Options, path


class Option(NamedTuple):
    default: Any
    check: Check
    help: str


class TaskOptions:
    """Each attribute that is an `Option`, and one for each of `files`. Variants inherit them."""

    files: ClassVar[Mapping[str, ItemFile]] = {}

    @classmethod
    def declared(cls) -> dict[str, Option]:
        options = {
            name: Option(None, path, f"a file like items/{file.default}")
            for name, file in cls.files.items()
        }
        for class_ in reversed(cls.__mro__):
            own = vars(class_).items()
            options |= {name: value for name, value in own if isinstance(value, Option)}
        return options

    @classmethod
    def rows(cls) -> list[tuple[str, str, str]]:
        """Name, default and help of each option."""
        return [
            (name, "" if option.default is None else str(option.default).lower(), option.help)
            for name, option in cls.declared().items()
        ]

    @classmethod
    def read(cls, given: Options) -> dict[str, Any]:
        """All values; of a person's own files what a results file records. Ignores other names.
        Raises UsageError for a wrong value or file."""
        values = {
            name: option.check(name, given.get(name, option.default))
            for name, option in cls.declared().items()
        }
        paths = {name: values.pop(name) for name in OPTIONS if name in values}
        return {**values, **checked(cls.files, **paths)}
