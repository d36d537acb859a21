"""Certificates as files: read when the process starts, and again for each connection made after they were renewed.

Among services both sides show one (mutual TLS), signed by the same authority; its common name is the role of who shows
it. Whatever is not told to be plain text (``OMNIPOLY_PLAINTEXT``) and has no certificate does not start.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

import grpc
from cryptography import x509
from prometheus_client import Gauge

from omnipoly.runtime import logging
from omnipoly.runtime.config import ServiceSettings
from omnipoly.runtime.errors import ConfigError

log = logging.get(__name__)

VERIFYING = frozenset(("verify-ca", "verify-full"))
"""Ways of a database URL (``sslmode``) in which the server has to show a certificate that is looked at."""

EXPIRES = Gauge(
    "omnipoly_certificate_expires_seconds", "When the certificate in use ends, seconds since 1970 UTC.", ("use",)
)

Stamp = tuple[tuple[int, int, int], ...]


class Certificate(NamedTuple):
    """A certificate with its chain, its key, and the authorities by which the other side's is looked at, as PEM files.

    ``ca`` empty: the other side is not asked for one (a server), or the system's authorities count (a client).
    """

    use: str
    """``services`` or ``public``, for metrics and the log."""
    cert: str
    key: str
    ca: str = ""

    def stamp(self) -> Stamp | None:
        """What changes when a file is replaced; None while one of them is not there."""
        try:
            found = [Path(file).stat() for file in (self.cert, self.key, self.ca) if file]
        except OSError:
            return None
        return tuple((one.st_mtime_ns, one.st_ino, one.st_size) for one in found)

    def read(self) -> tuple[bytes, bytes, bytes | None]:
        """Certificate, key, authorities. Raises ``ConfigError`` for files that do not go together."""
        try:
            # OpenSSL looks whether they belong together: of a renewal one may be there before the other.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.cert, self.key)
            cert, key = Path(self.cert).read_bytes(), Path(self.key).read_bytes()
            authorities = Path(self.ca).read_bytes() if self.ca else None
            ends = x509.load_pem_x509_certificate(cert).not_valid_after_utc
        except (OSError, ValueError) as error:
            raise ConfigError(f"the certificate {self.cert} cannot be used: {error}") from None
        EXPIRES.labels(self.use).set(ends.timestamp())
        return cert, key, authorities

    def server_credentials(self) -> grpc.ServerCredentials:
        """What a server shows; with ``ca``, who has no certificate of that authority does not come in."""
        shown = self.stamp()

        def renewed() -> Any:
            nonlocal shown
            found = self.stamp()
            if found is None or found == shown:
                return None
            try:
                configuration = self._configuration()
            except ConfigError as error:
                log.error("certificate_not_read", use=self.use, error=str(error))  # noqa: TRY400 - one line
                return None
            shown = found
            log.info("certificate_renewed", use=self.use)
            return configuration

        return grpc.dynamic_ssl_server_credentials(self._configuration(), renewed, bool(self.ca))

    def channel_credentials(self) -> grpc.ChannelCredentials:
        """What a client shows. Raises ``ConfigError``."""
        cert, key, authorities = self.read()
        return grpc.ssl_channel_credentials(authorities, key, cert)

    def context(self, ca: str = "") -> ssl.SSLContext:
        """The same for what speaks TLS by Python's own means: files are read anew for each connection."""

        def make() -> ssl.SSLContext:
            context = ssl.create_default_context(cafile=ca or self.ca or None)
            context.load_cert_chain(self.cert, self.key)
            return context

        make()  # whatever is wrong with the files is found now
        return _Fresh(make)

    def _configuration(self) -> Any:
        cert, key, authorities = self.read()
        return grpc.ssl_server_certificate_configuration([(key, cert)], authorities)


class _Fresh(ssl.SSLContext):
    """A context whose every connection has one made for it alone."""

    _make: Callable[[], ssl.SSLContext]

    def __new__(cls, make: Callable[[], ssl.SSLContext]) -> Self:
        context = super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)
        context._make = make
        return context

    def __init__(self, make: Callable[[], ssl.SSLContext]) -> None:
        """make: raises OSError while the files cannot be read, and so does the connection."""

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        return self._make().wrap_bio(*args, **kwargs)


def among_services(settings: ServiceSettings) -> Certificate | None:
    """What a service shows to others; None: plain text. Raises ``ConfigError`` where neither was told."""
    if settings.plain("services"):
        return None
    files = (settings.tls_cert, settings.tls_key, settings.tls_ca)
    if not all(files):
        raise ConfigError(
            "the services' certificate is missing: set OMNIPOLY_TLS_CERT, OMNIPOLY_TLS_KEY and OMNIPOLY_TLS_CA, or say"
            " OMNIPOLY_PLAINTEXT=services"
        )
    certificate = Certificate("services", *files)
    certificate.read()
    return certificate


def in_public(settings: ServiceSettings, cert: str, key: str) -> Certificate | None:
    """What the gateway shows to clients; likewise."""
    if settings.plain("public"):
        return None
    if not cert or not key:
        raise ConfigError(
            "the gateway's certificate is missing: set OMNIPOLY_PUBLIC_TLS_CERT and OMNIPOLY_PUBLIC_TLS_KEY, or say"
            " OMNIPOLY_PLAINTEXT=public"
        )
    certificate = Certificate("public", cert, key)
    certificate.read()
    return certificate


def for_nats(settings: ServiceSettings) -> ssl.SSLContext | None:
    """What a service speaks to NATS with: its certificate among services names it there, too; None: plain text.

    Raises ``ConfigError``.
    """
    if settings.plain("nats"):
        return None
    ca = settings.nats_ca or settings.tls_ca
    if not ca or not settings.tls_cert or not settings.tls_key:
        raise ConfigError(
            "nothing is there to speak TLS to NATS with: set OMNIPOLY_TLS_CERT, OMNIPOLY_TLS_KEY and OMNIPOLY_TLS_CA"
            " (or OMNIPOLY_NATS_CA), or say OMNIPOLY_PLAINTEXT=nats"
        )
    try:
        return Certificate("services", settings.tls_cert, settings.tls_key, settings.tls_ca).context(ca)
    except (OSError, ValueError) as error:
        raise ConfigError(f"the certificate {settings.tls_cert} cannot be used for NATS: {error}") from None


def require_database(url: str, *, plain: bool) -> None:
    """Raises ``ConfigError`` for a database that would be spoken to in plain text, untold, and not over a socket."""
    query = parse_qs(urlsplit(url).query)
    on_a_socket = not urlsplit(url).hostname and query.get("host", [""])[0].startswith("/")
    if plain or on_a_socket or query.get("sslmode", [""])[0] in VERIFYING:
        return
    raise ConfigError(
        "the database would be spoken to in plain text, or to whoever answers there: add"
        " sslmode=verify-full&sslrootcert=FILE to OMNIPOLY_DATABASE_URL, or say OMNIPOLY_PLAINTEXT=database"
    )
