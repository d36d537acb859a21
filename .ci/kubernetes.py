"""Writes what deploy/kubernetes has in common with the rest of deploy: rules, configurations of Envoy and NATS.

kustomize reads no file from outside its folder, so these are copies. `make reference` writes them, a test compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

DEPLOY = Path(__file__).parents[1] / "deploy"
WRITTEN = "# Written by `make reference` from deploy/{}.\n"
RULE = """\
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: omnipoly
spec:
"""
ADDRESS = "address: gateway, port_value: 7100"
BEFORE = "      lb_policy: ROUND_ROBIN\n"
TLS = """\
      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
          sni: play.example.com # SET: the name in the gateways' certificate
          common_tls_context:
            alpn_protocols: [h2]
            validation_context:
              trusted_ca: {filename: /etc/ssl/certs/ca-certificates.crt}
              match_typed_subject_alt_names:
                - {san_type: DNS, matcher: {exact: play.example.com}} # SET
"""


def files() -> dict[Path, str]:
    """What each file has to hold."""
    kubernetes = DEPLOY / "kubernetes"
    rules = (DEPLOY / "monitoring/rules.yaml").read_text("utf-8").splitlines(keepends=True)
    envoy = (DEPLOY / "envoy/envoy.yaml").read_text("utf-8")
    if ADDRESS not in envoy or BEFORE not in envoy:
        raise LookupError("deploy/envoy/envoy.yaml is not as it is looked for here")
    envoy = WRITTEN.format("envoy/envoy.yaml") + envoy.replace(ADDRESS, ADDRESS.replace("gateway", "gateway-replicas"))
    nats = {
        kubernetes / "components/nats" / name: WRITTEN.format(f"nats/{name}")
        + (DEPLOY / "nats" / name).read_text("utf-8")
        for name in ("nats.conf", "permissions.conf")
    }
    return nats | {
        kubernetes / "components/monitoring/rules.yaml": WRITTEN.format("monitoring/rules.yaml")
        + RULE
        + "".join(f"  {line}" if line.strip() else line for line in rules),
        kubernetes / "overlays/dev/envoy.yaml": envoy,
        kubernetes / "overlays/prod/envoy.yaml": envoy.replace(BEFORE, BEFORE + TLS),
    }


if __name__ == "__main__":
    import written

    sys.exit(written.main("Writes what deploy/kubernetes has from elsewhere.", files()))
