"""The whole platform in containers, as deploy/compose has it: `make test-containers`."""
