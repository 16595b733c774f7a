"""What is wrong at a site: the health ladder's reasons and the warnings, each with its code and its remedy.

As the API tells it, perhaps of another version: nothing in it is taken for granted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from proxy.cli.cells import as_dict, as_dicts, duration, is_number, number, plain
from proxy.text import introduced, likewise

LEVELS = {"healthy": "green", "attention": "yellow", "degraded": "dark_orange", "critical": "bold red"}


@dataclass(frozen=True, slots=True)
class Condition:
    """One line of the report; what is missing is empty."""

    level: Text
    """With the code behind it (EVENTS.md)."""
    words: Text
    since: str
    """How long it has held."""
    remedy: Text


def conditions(health: dict[str, Any], warnings: dict[str, Any], now: float) -> Iterator[Condition]:
    """The site's health in one line, then what is wrong, from the site down to lanes, then warnings.

    `now`: seconds since 1970.
    """
    reasons = list(_reasons(health))
    yield _condition(health.get("level"), health, _summary(health, [reason for _, reason, _ in reasons]), now)
    for subject, reason, others in reasons:
        yield _condition(reason.get("level"), reason, _about(subject, reason) + likewise("lane", others), now)
    for warning in as_dicts(warnings.get("warnings")):
        yield _condition("warning", warning, _about(str(plain(warning.get("subject"))), warning), now)


def _summary(health: dict[str, Any], reasons: list[dict[str, Any]]) -> Text:
    """The whole in one sentence. Where that is only the worst reason, which is shown with the others, their codes."""
    words = plain(health.get("words"))
    told = any(reason.get("words") and str(words).endswith(str(plain(reason["words"]))) for reason in reasons)
    codes = dict.fromkeys(str(plain(reason["code"])) for reason in reasons if reason.get("code"))
    return Text(f"because of {', '.join(codes)}") if told and codes else words


Told = tuple[str, dict[str, Any], list[str]]
"""What a reason is about, the reason, and which other lanes have it as well."""


def _reasons(health: dict[str, Any]) -> Iterator[Told]:
    """All reasons of the health ladder."""
    yield from _of("site", health)
    yield from _of("store", as_dict(health.get("store")))
    for peer in as_dicts(health.get("peers")):
        name, tunnel = f"peer {plain(peer.get('name'))}", as_dict(peer.get("tunnel"))
        yield from _of(name, peer)
        yield from _of(name, tunnel)
        yield from _of_lanes(name, tunnel)


def _of(subject: str, step: dict[str, Any]) -> Iterator[Told]:
    return ((subject, reason, []) for reason in as_dicts(step.get("reasons")))


def _of_lanes(peer: str, tunnel: dict[str, Any]) -> Iterator[Told]:
    """Lanes that have the same fault at once are told together, as in events: a tunnel may have a hundred."""
    found: dict[tuple[str, str], Told] = {}
    for lane in as_dicts(tunnel.get("lanes")):
        name = number(lane.get("number"))
        for reason in as_dicts(lane.get("reasons")):
            kind = str(reason.get("code")), str(reason.get("level"))
            if kind in found:
                found[kind][2].append(name)
            else:
                found[kind] = f"lane {name} of {peer}", reason, []
    yield from found.values()


def _condition(level: Any, told: dict[str, Any], words: Text, now: float) -> Condition:
    style = (LEVELS | {"warning": "yellow"}).get(str(level), "")
    code = f" {told['code']}" if told.get("code") else ""
    return Condition(
        level=plain(f"{plain(level)}{code}", style),
        words=words,
        since=_since(told.get("since"), now),
        remedy=plain(f"→ {told['remedy']}") if told.get("remedy") else Text(),
    )


def _about(subject: str, told: dict[str, Any]) -> Text:
    return plain(introduced(subject, str(plain(told.get("words")))))


def _since(value: Any, now: float) -> str:
    return duration(now - value) if is_number(value) and value <= now else ""
