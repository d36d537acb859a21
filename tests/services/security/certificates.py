"""Certificates for tests: an authority, and what it signs, as files."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAY = dt.timedelta(days=1)


class Authority:
    """Signs certificates; its own is ``ca``, a file."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _subject(f"The authority {name}")
        folder.mkdir(parents=True, exist_ok=True)
        certificate = (
            self._building(self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.ca = folder / f"{name}.pem"
        self.ca.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, *, hosts: tuple[str, ...] = ("localhost",), into: str = "") -> tuple[Path, Path]:
        """A certificate of that common name for these hosts and 127.0.0.1, and its key; of an old one the new takes
        the place, by a rename each."""
        key = ec.generate_private_key(ec.SECP256R1())
        names: list[x509.GeneralName] = [x509.DNSName(host) for host in hosts]
        names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        certificate = (
            self._building(_subject(name), key)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        into = into or name
        return (
            self._put(f"{into}.pem", certificate.public_bytes(serialization.Encoding.PEM)),
            self._put(
                f"{into}.key",
                key.private_bytes(
                    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
                ),
            ),
        )

    def settings(self, name: str, **more: Any) -> dict[str, Any]:
        """What a service is told that shows a certificate of that name."""
        cert, key = self.issue(name)
        return {"tls_cert": str(cert), "tls_key": str(key), "tls_ca": str(self.ca), **more}

    def _building(self, subject: x509.Name, key: Any) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + _DAY)
        )

    def _put(self, name: str, data: bytes) -> Path:
        path, fresh = self._folder / name, self._folder / f".{name}.new"
        fresh.write_bytes(data)
        fresh.chmod(0o600)
        os.replace(fresh, path)
        return path


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def serial(pem: bytes) -> int:
    """A certificate's number."""
    return x509.load_pem_x509_certificate(pem).serial_number
