"""HTTPS: no request, and so no key, reaches a server whose certificate nobody here trusts."""

from __future__ import annotations

import http.server
import ipaddress
import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gre_bench.http import lm_requests
from tests.servers.scripted import Handler, serve_in_thread

OWN, ELSEWHERE = "127.0.0.1", "127.0.0.2"
"""Addresses of this machine: that of a server of one's own, and one that is treated like any other host."""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A file with a certificate for both addresses, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "nobody")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host)) for host in (OWN, ELSEWHERE)])
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1)).add_extension(names, critical=False).sign(key, hashes.SHA256())
    )  # fmt: skip
    private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file = tmp_path_factory.mktemp("https") / "certificate.pem"
    file.write_bytes(
        made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(serialization.Encoding.PEM, *private)
    )
    return file


@pytest.fixture(params=[OWN, ELSEWHERE])
def server(request, certificate):
    """The address of an HTTPS server with that certificate, and the headers of the requests that it has got."""
    got = []

    class Recorder(Handler):
        def do_GET(self):
            got.append(dict(self.headers))
            self.send(200, {})

    served = http.server.ThreadingHTTPServer((request.param, 0), Recorder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    served.socket = context.wrap_socket(served.socket, server_side=True)
    with serve_in_thread(served):
        yield f"https://{request.param}:{served.server_port}", got


def asked(url: str) -> lm_requests.HttpReply:
    lm_requests._load_certificates.cache_clear()
    return lm_requests.HttpClient(url, "sk-secret", 5.0, 2**20).send("GET", "/")


def test_a_certificate_is_taken_if_the_environment_trusts_it_but_for_a_server_of_ones_own(
    server, certificate, monkeypatch
):
    url, got = server
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    answer = asked(url)
    assert answer.status is None and "certificate verify failed" in answer.reason
    assert got == [], "the key was sent to a server that nobody trusts"
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    answer = asked(url)
    lm_requests._load_certificates.cache_clear()
    if ELSEWHERE in url:
        assert answer.status == 200 and got[0]["Authorization"] == "Bearer sk-secret"
    else:
        assert answer.status is None and got == []
