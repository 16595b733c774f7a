"""How the parts of a site begin tasks: by a function of the site, which sees to it that none ends unnoticed."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

Run = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]
"""Begins a task that ends by cancellation only."""
