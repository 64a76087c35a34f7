import pytest

from lm_eval_bias.usage import UsageError


def refused(message):
    """A person's mistake ends with this message, a regular expression."""
    return pytest.raises(UsageError, match=message)
