"""Host options: defaults that are allowed, values that make sense, options that the rules have a use for."""

from __future__ import annotations

from ..model import IntOption, Mode, OptionChoices
from ..problems import Problems


def check_options(mode: Mode, problems: Problems) -> None:
    """Check the host options of one mode."""
    bounds = {
        "start_cash": (1, 1_000_000),
        "clock": (1, 3600),
        "round_limit": (0, mode.rules.play.last_round),
        "time_limit": (0, 1440),
        "entry_fee": (0, 1_000_000),
    }
    for name in OptionChoices.__struct_fields__:
        option = getattr(mode.options, name)
        if isinstance(option, IntOption):
            _number(f"options.{name}", option, bounds[name], problems)
    if mode.options.auto_claim is not None and mode.rules.rent.due != "claimed":
        remedy = 'leave it out, or write rent.due = "claimed"'
        problems.add("options.auto_claim", "no rent is claimed in this edition", remedy)


def _number(place: str, option: IntOption, bounds: tuple[int, int], problems: Problems) -> None:
    allowed = option.values or option.range
    if not allowed or (option.values and option.range):
        problems.add(place, "it must say what is allowed, once", "write either values = [...] or range = [least, most]")
        return
    least, most = bounds
    if list(allowed) != sorted(set(allowed)):
        problems.add(
            place, f"what is allowed does not rise: {list(allowed)}", "write each value once, the smallest first"
        )
    elif allowed[0] < least or allowed[-1] > most:
        problems.add(place, f"it allows what cannot be: {list(allowed)}", f"keep it between {least} and {most}")
    elif option.values and option.default not in option.values:
        problems.add(place, f"default {option.default} is not among its values", f"write one of {list(option.values)}")
    elif option.range and not option.range[0] <= option.default <= option.range[1]:
        remedy = f"write a number from {option.range[0]} to {option.range[1]}"
        problems.add(place, f"default {option.default} is not in its range", remedy)
