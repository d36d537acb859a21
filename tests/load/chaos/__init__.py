"""`make chaos`: fifty tables of bots and people, while whatever the platform is made of is killed, stopped and cut off.

people and what they do     journal, line, choosing, person, game, load
what is done to the platform  stack, faults
what is looked at afterwards  dump, checker; planting, wrongs and the like: a run made wrong on purpose

The people speak the public contract and nothing else, and write down what they sent, were answered and were shown,
before they go by it. The checker compares that with a dump of the database; it shares no code with the platform.
"""
