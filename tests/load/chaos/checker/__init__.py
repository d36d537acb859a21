"""What must be true after chaos, from a dump of the database and the clients' journals alone.

Nothing of the platform is imported but the stubs of its contracts: what a check needs to know of a game it works out
from the events itself, and from the text of the edition that it is played by.

reading     dump, journals and what was done, as rows with names
log         versions, ids, columns
model       a game as far as money, lots, figures and running numbers go
lots        whose each lot is, and how it came there
payments    every payment and its cause
editions    the numbers of an edition, from its text in the dump
kept        stored snapshots, against the log
chance      every throw again, from the seed
clocks      who was timed out, and whether their clock had run
answers     what clients were answered, against the log
shown       what clients were shown, against the log
silence     streams that keep something back, or end by themselves
ledger      credits
ends        every game goes on and ends
report      all of it
"""
