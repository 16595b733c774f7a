"""Windows and their budget under any order of events: what is promised stays within the memory, and nothing leaks."""

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from proxy.protocol.credit import ReceiveWindow, SendCredit, Trust, WindowBudget, cost_of

INITIAL = 64 << 10
MAXIMUM = 1 << 20
TOTAL = 2 << 20


class Flow:
    """A sender and a receiver, and what is between them."""

    def __init__(self, budget: WindowBudget, trust: Trust) -> None:
        self.credit = SendCredit(INITIAL, 1 << 30, trust)
        self.window = ReceiveWindow(budget, INITIAL, MAXIMUM)
        self.under_way: list[tuple[int, int]] = []
        self.arrived: list[tuple[int, int]] = []


class Windows(RuleBasedStateMachine):
    flows = Bundle("flows")

    def __init__(self) -> None:
        super().__init__()
        self.budget = WindowBudget(TOTAL)
        self.trust = Trust(TOTAL)
        self.live: list[Flow] = []
        self.now = 0.0

    @rule(target=flows)
    @precondition(lambda self: self.budget.reserved + INITIAL <= TOTAL)
    def begin(self) -> Flow:
        assert self.budget.reserve(INITIAL)
        self.live.append(Flow(self.budget, self.trust))
        return self.live[-1]

    @rule(flow=flows, share=st.floats(0.01, 1.0), reduced=st.floats(0.0, 1.0))
    def send(self, flow: Flow, share: float, reduced: float) -> None:
        plain = int(flow.credit.room * share)
        if plain:
            cost = cost_of(plain, int(plain * reduced), lean=True)
            flow.credit.spend(cost, plain + 256)
            flow.under_way.append((cost, plain + 256))

    @rule(flow=flows)
    def arrive(self, flow: Flow) -> None:
        for cost, _ in flow.under_way:
            flow.window.arrive(cost, self.now, 0.1)
        flow.arrived += flow.under_way
        flow.under_way.clear()

    @rule(flow=flows, share=st.floats(0.0, 1.0))
    def consume(self, flow: Flow, share: float) -> None:
        for _ in range(round(len(flow.arrived) * share)):
            flow.window.consume(*flow.arrived.pop(0), self.now, 0.1)

    @rule(flow=flows, size=st.integers(0, 2 * MAXIMUM))
    def widen(self, flow: Flow, size: int) -> None:
        flow.window.widen(size)

    @rule(flow=flows, kept=st.integers(0, MAXIMUM))
    def press(self, flow: Flow, kept: int) -> None:
        flow.window.press(kept)

    @rule(flow=flows)
    def tell(self, flow: Flow) -> None:
        flow.credit.update(*flow.window.tell())

    @rule(given=st.booleans())
    def trust_changes(self, given: bool) -> None:
        self.trust.given = given

    @rule(seconds=st.sampled_from([0.001, 0.1, 10.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(flow=consumes(flows))
    def end(self, flow: Flow) -> None:
        flow.window.close()
        flow.credit.close()
        self.live.remove(flow)

    @invariant()
    def the_memory_is_kept(self) -> None:
        promised = sum(flow.window.limit - flow.window.consumed for flow in self.live)
        assert promised <= self.budget.reserved <= TOTAL

    @invariant()
    def windows_stay_within_their_bounds(self) -> None:
        assert all(INITIAL <= flow.window.size <= MAXIMUM for flow in self.live)

    @invariant()
    def nobody_waits_for_ever(self) -> None:
        """A sender without room has data at the receiver or a CREDIT to come."""
        for flow in self.live:
            if flow.credit.room < 4096 and not flow.under_way and not flow.arrived:
                assert flow.window.due

    def teardown(self) -> None:
        for flow in self.live:
            flow.window.close()
            flow.credit.close()
        assert self.trust.under_way == 0
        assert (self.budget.reserved, self.budget.grown, self.budget.streams) == (0, 0, 0)


TestWindows = Windows.TestCase
