"""A malformed request is its sender's doing: one line that says what was wrong with it, not a traceback of ours."""

import logging

from aiohttp.http import HttpProcessingError


class _Blame(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        """Everything passes; what a request is to blame for is put into words."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError):
            record.levelno, record.levelname, record.exc_info = logging.WARNING, "WARNING", None
            record.msg, record.args = "a malformed request to the status listener: %s", (_first_line(error.message),)
        return True


_BLAME = _Blame()


def request_log() -> logging.Logger:
    """Where aiohttp tells of requests that failed."""
    logger = logging.getLogger("proxy.web.server.requests")
    logger.addFilter(_BLAME)
    return logger


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
