"""The pure engine: what each game does, without I/O, clock or randomness of its own.

``engine`` is the way in: ``verify``, ``act``, ``play_due``, ``legal_actions``, ``apply``.
"""
