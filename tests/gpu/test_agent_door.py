"""The agent's door: a token, TLS off loopback, nothing but /metrics."""

from __future__ import annotations

import ssl
import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from gpu import agent as program
from gpu import server
from tests.gpu.conftest import TOKEN, Agent


def status(agent: Agent, **how: str) -> int:
    try:
        agent.get(**how)
    except urllib.error.HTTPError as refused:
        return refused.code
    return 200


def test_who_has_no_token_gets_nothing(agent: Agent) -> None:
    assert status(agent, token="") == 401
    assert status(agent, token=TOKEN + "x") == 401
    assert status(agent) == 200
    assert status(agent, path="/") == 404


def test_off_loopback_it_needs_a_certificate(tmp_path: Path) -> None:
    with pytest.raises(server.NotSafe):
        server.serve("0.0.0.0", 0, TOKEN, lambda: b"")
    with pytest.raises(server.NotSafe):
        server.serve("127.0.0.1", 0, "", lambda: b"")
    (tmp_path / "token").write_text(TOKEN)
    assert program.main(["--host", "0.0.0.0", "--port", "0", "--token-file", str(tmp_path / "token")]) == 2
    assert program.main(["--token-file", str(tmp_path / "none")]) == 2


def test_over_tls(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*words, *names, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    door = server.serve("127.0.0.1", 0, TOKEN, lambda: b"x 1\n", cert=cert, key=key)
    threading.Thread(target=door.serve_forever, daemon=True).start()
    try:
        address = f"https://127.0.0.1:{door.server_address[1]}/metrics"
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {TOKEN}"})
        context = ssl.create_default_context(cafile=str(cert))
        with urllib.request.urlopen(request, timeout=5, context=context) as answer:
            assert answer.read() == b"x 1\n"
    finally:
        door.shutdown()
        door.server_close()
