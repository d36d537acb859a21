-- What is counted for operators: tables that are not over (4), by state. Small, for what is over leaves it.
CREATE INDEX heads_in_play ON heads (status) WHERE status <> 4;
