"""How long a test waits for what has to happen, in one place.

Tests run beside each other, on machines that others use as well: everything may take several times as long as alone,
and stand still for seconds at any moment. So a test waits for a condition, not for a time, and gives up late; waiting
long costs nothing where all is well. What must *not* happen, or not before its time, is judged by what sites say.
"""

PATIENCE = 90.0
"""Seconds after which anything is overdue. The time limit of a whole test (pyproject.toml) is larger."""
