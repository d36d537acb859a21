"""The schema of the log and what stands beside it; see ``omnipoly.runtime.migrations``."""
