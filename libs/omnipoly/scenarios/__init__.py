"""Scenario files: positions, moves and what must hold after them (``docs/scenarios.md``).

``reader`` makes typed scenarios of a file, ``position`` a state of what is given, ``runner`` plays the steps on a
``stage``: the pure engine here, a running stack in ``wire_stage``.
"""
