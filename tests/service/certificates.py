"""A certificate of this machine's own, for tests."""

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def certificate(folder):
    """Write a certificate for 127.0.0.1 with its private key, and return the file."""
    key, name, now = ec.generate_private_key(ec.SECP256R1()), x509.Name([]), datetime.datetime.now(datetime.UTC)
    serial, ends = x509.random_serial_number(), now.replace(year=9999, day=1)
    alone = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder(name, name, key.public_key(), serial, now, ends).add_extension(alone, critical=True)
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / "both.pem"
    path.touch(0o600)
    path.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem) + private)
    return path
