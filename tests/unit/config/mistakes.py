"""What a site's file is to be told of."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from proxy.config.mistakes import ConfigError


@contextmanager
def one_mistake(key: str, wrong: str, remedy: str) -> Iterator[None]:
    """In this `with` block one mistake is found, at that key, and told with these words among others."""
    with pytest.raises(ConfigError) as caught:
        yield
    (mistake,) = caught.value.mistakes
    assert mistake.key == key
    assert wrong in mistake.wrong
    assert remedy in mistake.remedy
    assert str(mistake).startswith(key)
