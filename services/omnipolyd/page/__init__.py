"""The web page to watch and play, for development and demos, and the Envoy that serves it beside the gateway.

A browser speaks gRPC-Web; Envoy makes gRPC of it and hands out the page's own files: all of it has one address.

    files       what is served: the page, the library it speaks with, the contracts as it reads them
    envoy       Envoy's configuration, and its process
    static/     the page: plain modules, no build; `vendor/` is bundled by `make vendor`
"""

from __future__ import annotations
