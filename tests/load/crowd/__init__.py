"""`make load`: players and watchers against any gateway, and what that gateway gave them.

figures     histograms that processes merge, counts, and when no figure is named
pacing      who acts when: closed (each player after the answer to the last), open (so many a second, come what may)
table       one table: its players and its watchers
worker      a process with its share of the tables
running     the processes, watched live
report      text, JSON, and a page with plots
"""
