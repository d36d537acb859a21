"""What a ring promises: how often each field is reached, and what holding a part of a set is worth beyond its price.

Computed once for each ring, from the rules alone. The figures are a bot's opinion, in whole money units.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING

from omnipoly.rules.ring import Kind

if TYPE_CHECKING:
    from omnipoly.rules.ring import Rules

ROUNDS = 10
"""So many rounds ahead a bot looks."""
HOUSES = 3
"""So many houses on each street a set is judged by: the step where rents rise most."""
_NEVER = 1000
_MEAN_THROW = 7
_THROWS = 60
"""After so many, where a figure began no longer matters."""
_PARTS = {1: 20, 2: 5}
"""What lacking so many lots of a set leaves of its promise, in percent; lacking more leaves nothing."""


class Outlook:
    """The promises of one ring."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.often = _how_often(rules)
        """By field: the share of throws that end there."""
        building = rules.choices.building
        self.two_are_enough = building.needs == "two_of_set"
        """Whether two lots of a set can be built on (GLO-Q-BUILD)."""
        self.needs = tuple(self._needed(group) for group in range(rules.sets_n))
        """By set: how many of its lots must be in one hand to build there, or to make the most of it."""
        self.even = building.even
        self.mortgage_forbids = building.unmortgaged == "set"
        self.to_build = tuple(need if rules.street_set[group] else _NEVER for group, need in enumerate(self.needs))
        """By set: how many of its lots must be in one hand to build there; more than there are where nobody builds."""
        self.costs = tuple(min(rules.house_cost[at] for at in members) for members in rules.sets)
        """By set: the least that a building costs there."""
        self.least_cost = min([rules.lift_cost[at] for at in rules.lots], default=1)
        """The least sum that lifts a mortgage."""
        self.most_loan = max(rules.loan)
        most = rules.board.players[1]
        self.extra = [[self._of_set(group, opponents) for group in range(rules.sets_n)] for opponents in range(most)]
        """By opponents, set and lots held: what the holding is worth beyond the prices of its lots."""
        self.yields = [self._yields(at) for at in range(rules.fields_n)]
        """By field and level: what the next building brings by each throw of an opponent, for 100 000 spent."""

    def _needed(self, group: int) -> int:
        size = self.rules.set_size[group]
        return min(2, size) if self.two_are_enough and self.rules.street_set[group] else size

    def _of_set(self, group: int, opponents: int) -> tuple[int, ...]:
        rules = self.rules
        size, members = rules.set_size[group], rules.sets[group]
        if not rules.street_set[group]:
            return tuple(self._of_row(group, held, opponents) for held in range(size + 1))
        earns = opponents * ROUNDS * sum(self.often[at] * rules.rents[at][HOUSES] for at in members)
        lost = 100 - rules.choices.building.sell_percent
        costs = sum(HOUSES * rules.house_cost[at] * lost // 100 for at in members)
        bare = sum(rules.price[at] for at in members) // 4
        promise = max(int(earns) - costs, bare)
        return tuple(promise * self._part(held, size) // 100 for held in range(size + 1))

    def _part(self, held: int, size: int) -> int:
        if held == size:
            return 100
        if not held:
            return 0
        if self.two_are_enough and held >= 2:
            return 100 * held // size
        return _PARTS.get(size - held, 0)

    def _of_row(self, group: int, held: int, opponents: int) -> int:
        """Transports and utilities: what their rents bring above those of one alone."""
        rules = self.rules
        rent = rules.choices.rent
        row = rent.transport
        if rules.kind[rules.sets[group][0]] is Kind.UTILITY:
            row = tuple(factor * _MEAN_THROW for factor in rent.utility)
        if held < 2:
            return 0
        each = row[min(held, len(row)) - 1] - row[0]
        often = sum(self.often[at] for at in rules.sets[group]) / rules.set_size[group]
        return int(opponents * ROUNDS * held * often * each)

    def _yields(self, at: int) -> tuple[int, ...]:
        rules = self.rules
        rents, cost = rules.rents[at], rules.house_cost[at]
        if not rents or not cost:
            return ()
        bare = (rents[0] * rules.choices.rent.bare_set_factor, *rents[1:])
        rises = [after - before for before, after in itertools.pairwise(bare)]
        return tuple(int(100_000 * self.often[at] * rise / cost) for rise in rises)


@functools.lru_cache(maxsize=256)
def outlook(rules: Rules) -> Outlook:
    """What that ring promises; made at the first question."""
    return Outlook(rules)


def _how_often(rules: Rules) -> list[float]:
    """The share of throws that end on each field when figures walk round for ever, cards left aside."""
    n = rules.fields_n
    share = [1.0 / n] * n
    for _ in range(_THROWS):
        after = [0.0] * n
        for at, here in enumerate(share):
            for steps in range(2, 13):
                target = (at + steps) % n
                ways = 6 - abs(_MEAN_THROW - steps)
                after[rules.jail if rules.kind[target] is Kind.GO_TO_JAIL else target] += here * ways / 36
        share = after
    return share
