"""What every Omnipoly service shares: configuration, telemetry, failures, server, life cycle, database, bus, frames.

Import the modules, not names from here: `from omnipoly.runtime import app, failures`. A service is written against
`app.Service` and runs under `app.run`; what it gets from there is described in `app`.
"""
