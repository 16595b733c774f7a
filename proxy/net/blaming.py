"""A context in which somebody looks at errors before anybody else does."""

from collections.abc import Callable


class Blaming:
    """Each batch passes through it, and generators are slow."""

    __slots__ = ("_blame",)

    def __init__(self, blame: Callable[[Exception], bool]) -> None:
        """`blame`: given an error, whether that was the end of it."""
        self._blame = blame

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        return isinstance(error, Exception) and self._blame(error)
