"""An authority and server certificates of every kind a directory may show: good, out of date, for another host, foreign."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Key = ec.EllipticCurvePrivateKey
DAY = datetime.timedelta(days=1)
_USES = (
    "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only",
    "decipher_only",
)  # fmt: skip
_SIGNS = x509.KeyUsage(key_cert_sign=True, crl_sign=True, **dict.fromkeys(_USES, False))


class Authority:
    """One authority; its own certificate lies in `ca`. An old one names no keys and says not what its own is for."""

    def __init__(self, folder: Path, name: str, *, old: bool = False) -> None:
        self.key, self.folder, self.ca = ec.generate_private_key(ec.SECP256R1()), folder, folder / f"{name}.pem"
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Demo authority {name}")])
        builder = _builder(self.name, self.name, self.key, -1, 30)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.old, public = old, self.key.public_key()
        self.identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(public)
        if not old:
            builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            builder = builder.add_extension(_SIGNS, critical=True)
        self.ca.write_bytes(builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, *, host: str = "127.0.0.1", starts: int = -1, ends: int = 30) -> tuple[Path, Path]:
        """Certificate and key for an address, valid from `starts` to `ends` days from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        builder = _builder(subject, self.name, key, starts, ends)
        address = x509.IPAddress(ipaddress.ip_address(host))
        builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
        if not self.old:
            builder = builder.add_extension(self.identifier, critical=False)
        signed = builder.sign(self.key, hashes.SHA256())
        certificate, private = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        private.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return certificate, private


def _builder(subject: x509.Name, issuer: x509.Name, key: Key, starts: int, ends: int) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now + starts * DAY).not_valid_after(now + ends * DAY)
