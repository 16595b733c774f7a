"""Whose frame goes next, and when, if a cap has to be waited for.

1. Urgent streams, first come first served: they sent little lately, or have frames that others wait for. If they leave
   nothing of a line or a cap to bulk for a second, a frame of bulk goes all the same.
2. Shares that have had less than their guarantee, the one that is furthest behind first.
3. By priority; among equals the share that has had least beside its guarantee.

Within a share the stream that has had least goes first. All frames are counted in bytes of the wire and charged to
every cap that holds for them; but urgent frames do not wait for what bulk owes.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from proxy.protocol.account import Account
from proxy.protocol.guarantees import Guarantees
from proxy.protocol.meter import NEVER, Cap, Stopwatch
from proxy.protocol.reader import BATCH_MAX
from proxy.protocol.share import WIRE, Marks, Priority, Share

if TYPE_CHECKING:
    from proxy.protocol.stream import Stream


class Scheduler:
    """Streams that may have something to send, by share. Rates in bytes of the wire a second; `now` in seconds."""

    def __init__(self) -> None:
        self.accounts: dict[Share, Account] = {}
        self.cap: Cap | None = None
        """The cap on everything together, if there is one."""
        self.held = Stopwatch()
        """Runs while something waits for `cap`."""
        self.again_at = NEVER
        """When to ask again: something waits for a cap."""
        self.overtaken_at = float("-inf")
        """When an urgent frame last went before waiting bulk of another stream."""
        self.ruled = False
        """True if an account's share is `Share.ruled`, or if there is a `cap`: then the shares are not all alike."""
        self._waiting: list[Account] = []  # those that have something to send
        self._held_all = False  # everything waits for a cap, until `again_at`
        self._order = 0  # of the last urgent stream that was added
        # Of the stream that `next` gave, until `sent` or `passed` takes it back:
        self.gave_urgent = False
        """It was chosen for an urgent frame, which does not wait behind bulk."""
        self._overdue = False  # its bulk has waited too long for urgent frames, and goes before them
        self._owed = False  # its share is behind its guarantee
        self._bulk: Marks | None = None  # the marks of which there was room for bulk
        self._last = [0.0] * len(Priority)  # by priority: the turn at which a share begins if none waits
        self._guarantees = Guarantees()

    # -- shares --------------------------------------------------------------------------------------------------

    def account(self, share: Share) -> Account:
        """The account of the share, which is made at the first call and stays until `drop`."""
        found = self.accounts.get(share)
        if found is None:
            found = self.accounts[share] = Account(share)
            self.ruled = self.ruled or share.ruled
        return found

    def change(self, share: Share, other: Share, now: float) -> None:
        """The account of that share, with its streams and what it has sent, is the account of the other share."""
        account = self.accounts.pop(share)
        if listed := account.listed:
            self._unlist(account)
        account.change(other, now)
        self.accounts[other] = account
        if listed:
            self._list(account)
        self._review()

    def drop(self, share: Share) -> None:
        """No stream is of that share any more, but for those that have ended: they keep its account."""
        del self.accounts[share]
        self._review()

    def set_rate(self, rate: float | None, now: float) -> None:
        """Cap everything together at so many bytes a second; None: no longer."""
        if rate is None:
            self.cap = None
        elif self.cap is None:
            self.cap = Cap(rate)
        else:
            self.cap.change(rate, now)
        self._review()

    def _review(self) -> None:
        """There are other rules."""
        self.ruled = self.cap is not None or any(share.ruled for share in self.accounts)
        for account in self.accounts.values():
            account.overtaken = None  # it may be in the future: when the former rate would have paid for a frame
        self.again_at = NEVER
        self._held_all = False

    def clear(self) -> None:
        """All streams are gone; accounts keep what was sent and what is owed."""
        for account in self._waiting:
            account.clear()
        self._waiting.clear()
        self.again_at = NEVER

    # -- streams -------------------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        """True if `next` may have a stream: something waits, and not all of it for a cap."""
        return bool(self._waiting) and not self._held_all

    def add(self, stream: Stream, now: float) -> None:
        """Queue the stream: it has something to send. It may be in both queues of its account, and `passed` in one."""
        light = stream.outgoing.light(now)
        if stream.urgent if light else stream.bulk:
            return
        self._held_all = False
        account = stream.account
        if not account.listed:
            self._list(account)
        if light:
            self._order += 1
            account.add_urgent(stream, self._order)
        else:
            if not account.bulk:
                account.overtaken = None
                self._guarantees.begin(account, self._waiting, now)
            account.add_bulk(stream)

    @property
    def capped(self) -> bool:
        """True if something, or everything together, has a cap."""
        return self.cap is not None or any(account.cap is not None for account in self.accounts.values())

    @property
    def urgent(self) -> bool:
        """True if urgent frames wait."""
        for account in self._waiting:  # noqa: SIM110 (each pump passes here, and a generator is slow)
            if account.urgent:
                return True
        return False

    def next(self, now: float, urgent: Marks | None = None, bulk: Marks | None = None) -> Stream | None:
        """The stream whose turn it is; the caller gives it back by `sent` or `passed`.

        `urgent`, `bulk`: the DSCP marks of which lanes have room for frames of that kind; None: of all. Returns None if
        nothing waits that there is room for, or all of it waits for a cap, until `again_at`.
        """
        if not self._waiting:
            return None
        self._bulk = bulk
        alike = not self.ruled and urgent is None and not bulk
        account = self._choose_alike(now, bulk is None) if alike else self._choose(now, urgent, bulk)
        if account is None:
            return None
        return account.urgent[0][1] if self.gave_urgent else account.bulk[0][2]

    def sent(self, stream: Stream, size: float, now: float) -> None:
        """The stream that `next` gave has sent a frame of that many bytes; it waits again if it has more."""
        account = stream.account
        self._note_overtaking(account, now)
        if self.gave_urgent and any(other.overtaken_by(stream) for other in self._waiting):
            self.overtaken_at = now
        self._pay(stream, size * WIRE, now, urgent=self.gave_urgent)
        if not stream.outgoing.waiting:
            self._pop(stream)
        elif self.gave_urgent:
            account.pop_urgent()
            self.add(stream, now)
        else:
            account.again()

    def copied(self, stream: Stream, size: float, now: float) -> None:
        """An urgent frame of the stream, of that many bytes, goes by one more lane."""
        self._pay(stream, size * WIRE, now, urgent=True)

    def passed(self, stream: Stream) -> None:
        """The stream that `next` gave has nothing that may be sent now. The caller adds it again when it has."""
        self._pop(stream)

    def move(self, stream: Stream, share: Share, now: float) -> None:
        """The stream belongs to that share from now on."""
        self.remove(stream)
        stream.account = self.account(share)
        if stream.outgoing.waiting:
            self.add(stream, now)

    def remove(self, stream: Stream) -> None:
        """Take the stream from its queues: it is over, or moves to another share."""
        if stream.urgent or stream.bulk:
            account = stream.account
            account.remove(stream)
            if not account.waits:
                self._unlist(account)

    def grain(self, stream: Stream) -> int:
        """Bytes that a frame of the stream should have at most."""
        return min((cap.grain for cap in self._caps(stream.account)), default=BATCH_MAX)

    def charge(self, wire: float, now: float) -> None:
        """Bytes of the wire went for no stream: they did not wait for the cap, but are charged to it."""
        if self.cap is not None:
            self.cap.charge_unasked(wire, now)

    def repeated(self, wire: float, now: float) -> None:
        """The kernel has sent so many bytes of the wire again since the last call, nobody knows of which share.

        Each share pays in proportion to what it has sent since then. It does so without asking its cap: it may have
        sent little since then, and most of what was repeated was sent before that, also by other shares.
        """
        self.charge(wire, now)
        sent = [(account, account.lately()) for account in self.accounts.values()]
        total = sum(own for _, own in sent)
        for account, own in sent:
            if account.cap is not None and own:
                account.cap.charge_unasked(wire * own / total, now)

    def _caps(self, account: Account) -> list[Cap]:
        """Those that hold for the account."""
        return [cap for cap in (self.cap, account.cap) if cap is not None]

    def tick(self, now: float) -> None:
        """Time has passed: what was held back by a cap may go."""
        if now >= self.again_at:
            self.again_at = NEVER
            self._held_all = False

    def _pop(self, stream: Stream) -> None:
        """The stream that `next` gave waits no longer for that turn."""
        account = stream.account
        if self.gave_urgent:
            account.pop_urgent()
        else:
            account.pop_bulk()
        if not account.waits:
            self._unlist(account)

    def _list(self, account: Account) -> None:
        """The account has something to send again. Its turn is set to no less than the least turn that waits with its
        priority or, if none does, than the turn at which the last one ended."""
        account.listed = True
        priority = account.share.priority
        begin = self._last[priority]
        if self._waiting:
            begin = min((other.turn for other in self._waiting if other.share.priority == priority), default=begin)
        account.turn = max(account.turn, begin)
        self._waiting.append(account)

    def _unlist(self, account: Account) -> None:
        account.listed = False
        self._waiting.remove(account)
        priority = account.share.priority
        self._last[priority] = max(self._last[priority], account.turn)

    # -- choosing ------------------------------------------------------------------------------------------------

    def _all_overdue(self, now: float) -> list[Account]:
        """Accounts whose bulk is overdue, if urgent frames have paid for the last overdue frame."""
        return [
            each
            for each in self._waiting
            if each.overtaken is not None  # the quick test first: each frame passes here
            and each.overdue(now)
            and all(cap.settled(now) for cap in self._caps(each))
        ]

    def _note_overtaking(self, account: Account, now: float) -> None:
        """Note since when bulk waits for urgent frames alone, now that a frame of `account` goes.

        If that is urgent, all waiting bulk is overtaken, from when caps would let it go. If it is bulk, other bulk that
        neither a cap nor a lane held back was waiting for its turn, not for urgent frames.
        """
        if self.gave_urgent:
            for other in self._waiting:
                if other.bulk and other.overtaken is None:
                    other.overtaken = max([now, *(cap.bulk_paid for cap in self._caps(other))])
            return
        for other in _marked(self._waiting, self._bulk):
            if other.overtaken is not None and (other.cap is None or other.cap.free_at(False) <= now):
                other.overtaken = None
        account.overtaken = None

    def _choose_alike(self, now: float, bulk: bool) -> Account | None:
        """The account whose turn it is, if all shares are alike. `bulk`: there is room for bulk."""
        waiting = self._waiting
        if len(waiting) == 1:  # the usual case, for which no lists are made
            self.gave_urgent = bool(waiting[0].urgent) and not (bulk and self._all_overdue(now))
            return waiting[0] if self.gave_urgent or bulk else None
        overdue = bulk and self._all_overdue(now)
        urgent = [account for account in waiting if account.urgent]
        self.gave_urgent = bool(urgent) and not overdue
        if self.gave_urgent:
            return min(urgent, key=_first)
        return _least(overdue or waiting) if bulk else None

    def _choose(self, now: float, urgent: Marks | None, bulk: Marks | None) -> Account | None:
        """The account whose turn it is; `gave_urgent`, `_overdue` and `_owed` tell why. Arguments as of `next`."""
        self.gave_urgent, self._owed, self._overdue = True, False, False
        asking = self._free([account for account in self._waiting if account.urgent], now, urgent=True)
        room = bulk is None or bool(bulk)
        if asking and room:
            overdue = self._free(self._all_overdue(now), now, urgent=True)  # it goes in place of an urgent frame
            if (chosen := self._choose_bulk(overdue, now, bulk)) is not None:
                self.gave_urgent, self._overdue = False, True
                return chosen
        if suited := _marked(asking, urgent):
            return min(suited, key=_first)
        if not room:
            return None
        self.gave_urgent = False
        free = self._free([account for account in self._waiting if account.bulk], now, urgent=False)
        self._held_all = not (asking or free)
        return self._choose_bulk(free, now, bulk)

    def _choose_bulk(self, free: list[Account], now: float, marks: Marks | None) -> Account | None:
        suited = _marked(free, marks)
        if not suited:
            return None
        owed = self._guarantees.behind(suited, now)
        self._owed = owed is not None
        return _least(_first_rank(suited)) if owed is None else owed

    def _free(self, accounts: list[Account], now: float, *, urgent: bool) -> list[Account]:
        """The accounts that no cap makes wait: with an urgent frame if `urgent`, otherwise with bulk.

        Brings `again_at` forward to when the next of the others will be free.
        """
        if not accounts:
            return accounts
        at = float("-inf") if self.cap is None else self.cap.free_at(urgent)
        if at > now:
            self.held.start(now, at)
        free = []
        for account in accounts:
            own = at if account.cap is None else max(at, account.cap.free_at(urgent))
            if own <= now:
                free.append(account)
            else:
                account.held.start(now, own)
                if own > at:
                    account.limited.start(now, own)
                else:
                    account.limited.stop(now)
                self.again_at = min(own, self.again_at)
        return free

    def _pay(self, stream: Stream, cost: float, now: float, *, urgent: bool) -> None:
        account = stream.account
        account.wire += cost
        stream.turn += cost
        if not urgent:
            stream.frame = cost
        if not self.ruled:
            account.pay_turn(cost, urgent=urgent)
            return
        account.held.stop(now)
        account.limited.stop(now)
        self.held.stop(now)
        for cap in self._caps(account):
            cap.charge(cost, now, urgent=urgent, overdue=self._overdue and not urgent)
            if not urgent:
                cap.bulk_paid = now + cost / cap.rate
        if account.guarantee is not None and (self._owed or urgent):
            cost = self._guarantees.pay(account, cost, now, urgent=urgent)
            if not cost:
                return
        account.pay_turn(cost, urgent=urgent)


_turn = attrgetter("turn")
_priority = attrgetter("share.priority")


def _marked(accounts: list[Account], marks: Marks | None) -> list[Account]:
    return accounts if marks is None else [account for account in accounts if account.share.mark in marks]


def _first(account: Account) -> int:
    return account.urgent[0][0]


def _first_rank(accounts: list[Account]) -> list[Account]:
    """Those of the highest priority among them."""
    first = min(map(_priority, accounts))
    return [account for account in accounts if account.share.priority == first]


def _least(accounts: list[Account]) -> Account:
    """The account with the least turn, once turns are raised to within `Account.lead` of the one furthest ahead."""
    if len(accounts) == 1:
        return accounts[0]
    floor = max([account.turn - account.lead for account in accounts])
    for account in accounts:
        if account.turn < floor:  # noqa: PLR1730 (each frame passes here, and a call of max is slow)
            account.turn = floor
    return min(accounts, key=_turn)
