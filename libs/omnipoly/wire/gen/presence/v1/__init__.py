"""Generated from protos/ by `make protos`; not edited by hand."""
