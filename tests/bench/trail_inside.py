"""What of the trail's measurements runs beside PostgreSQL; arguments: database, host, rows, seconds of writing."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench import inside

PEOPLE = """
INSERT INTO audit_identity (ref, kind, value, person_id, at)
SELECT md5(kind || g)::uuid, kind, kind || g, g, now() FROM generate_series(1, 300) g, (VALUES ('login'), ('address')) k (kind)"""
FILL = """
INSERT INTO audit_auditevent (uid, at, action, outcome, actor_id, actor_ref, ran_as_ref, subject_type, subject_id,
  subject_text, project_id, project_code, channel, address_ref, correlation, db_role, detail)
SELECT gen_random_uuid(), now() - ({rows} - g) * interval '1 second', (ARRAY['job.submitted', 'job.accepted',
  'job.released', 'job.started', 'job.ended', 'log.read'])[1 + g % 6], 'done', g % 300 + 1,
  md5('login' || (g % 300 + 1))::uuid, md5('login' || (g % 300 + 1))::uuid, 'job', gen_random_uuid()::text, 'train-' || g,
  g % 40, 'project' || g % 40, 'api', md5('address' || (g % 300 + 1))::uuid, gen_random_uuid()::text, 'web',
  '{{"gpus": 1, "partition": "gpu", "digest": "6f1ed002ab5595859014ebf0951522d9"}}' FROM generate_series(1, {rows}) g"""
STEP = 100_000  # rows a statement


def main() -> None:
    """The last line is what was found, as JSON."""
    name, host, rows, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    inside.settings(name, host)
    inside.roles()
    with tempfile.TemporaryDirectory() as folder:
        key = _key(Path(folder))
        _fill(rows)
        found: dict[str, Any] = {"rows": rows, "cores": os.cpu_count(), "seal": rows / _timed(_seal(key))}
        found |= _export(name, host, Path(folder))
        found |= _verify(Path(folder), rows)
        found |= _soon(Path(folder), seconds)
        found |= _beside(Path(folder))
    print(json.dumps(found))


def _beside(folder: Path) -> dict[str, float]:
    """Once Django is set up."""
    from tests.bench.trail_beside import beside

    return beside(folder)


def _key(folder: Path) -> Any:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    (folder / "seal.pem").write_bytes(private)
    public = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    (folder / "public.pem").write_bytes(public)
    return key


def _fill(rows: int) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0; ALTER TABLE audit_auditevent DISABLE TRIGGER USER")
        cursor.execute(PEOPLE)
        for first in range(0, rows, STEP):
            cursor.execute(FILL.format(rows=min(STEP, rows - first)))
        cursor.execute("ALTER TABLE audit_auditevent ENABLE TRIGGER USER")
        cursor.execute("VACUUM ANALYZE audit_auditevent")


def _seal(key: Any) -> Callable[[], Any]:
    def act() -> None:
        from audit.services.sealing import Sealer

        sealer = Sealer.where_it_stands()
        while sealer.seal():
            pass
        sealer.checkpoint(key)

    return act


def _timed(act: Callable[[], Any]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def _export(name: str, host: str, folder: Path) -> dict[str, float]:
    """Both to where nothing is kept (a disk would be what is measured), turn about, twice; the better of each. Then
    once more to a file, for those who read it."""
    from django.db import connection

    from audit.services import exporting

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE audit_auditseal")
    copy, ours, first, growth = list[float](), list[float](), list[float](), 0.0
    nothing = Path(os.devnull)
    for into in (nothing, nothing, folder / "export.jsonl"):
        if into == nothing:
            copy.append(_timed(lambda: _psql(name, host)))
        before, size = _rss(), 0
        began = time.monotonic()
        with into.open("wb") as file:
            for number, block in enumerate(exporting.export(exporting.Wanted())):
                if number == 1:
                    first.append((time.monotonic() - began) * 1000)
                size += file.write(block)
        ours.append(time.monotonic() - began)
        growth = max(growth, _rss() - before)
    return {"copy": min(copy), "export": min(ours[:2]), "first": min(first), "growth": growth,
            "rate": size / 1e6 / min(ours[:2])}  # fmt: skip


def _psql(name: str, host: str) -> None:
    line = [
        "psql",
        "-q",
        "-h",
        host,
        "-U",
        "postgres",
        name,
        "-c",
        "COPY (SELECT * FROM audit_auditevent ORDER BY id) TO STDOUT",
    ]
    subprocess.run(line, stdout=subprocess.DEVNULL, check=True)


def _rss() -> float:
    """The most it ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _verify(folder: Path, rows: int) -> dict[str, float]:
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    from client.bancada import evidence, quick

    key: Any = load_pem_public_key((folder / "public.pem").read_bytes())

    def check(processes: int | None) -> Callable[[], Any]:
        def act() -> None:
            report = evidence.verify_items(quick.items_of(folder / "export.jsonl", processes), [key])
            assert report.events >= rows, report  # setting up leaves events of its own

        return act

    return {"verify": rows / _timed(check(None)), "verify_one": rows / _timed(check(1))}


def _soon(folder: Path, seconds: int) -> dict[str, float]:
    """The real sealer beside writers of a thousand events a second; when each event was signed for."""
    from django.db import connection

    sealer = subprocess.Popen(
        [sys.executable, "manage.py", "seal", "--skip-checks"],
        env=os.environ | {"BANCADA_SEAL_KEY": f"{folder}/seal.pem"},
    )
    try:
        time.sleep(5)
        began, first = time.monotonic(), _last("audit_auditevent")
        written = _write(seconds)
        rate = written / (time.monotonic() - began)
        time.sleep(34)  # what was written last is signed for half a minute later
    finally:
        sealer.send_signal(signal.SIGTERM)
        sealer.wait(20)
    with connection.cursor() as cursor:
        cursor.execute(_DELAYS, [first])
        delays = sorted(float(row[0]) if row[0] is not None else float("inf") for row in cursor.fetchall())
    covered = [one for one in delays if one != float("inf")]
    return {"written": written, "write_rate": rate, "p50": covered[len(covered) // 2], "p99": covered[len(covered) * 99 // 100],
            "uncovered": len(delays) - len(covered)}  # fmt: skip


_DELAYS = """
SELECT extract(epoch FROM (SELECT min(c.at) FROM audit_checkpoint c WHERE c.seq >= s.seq) - e.at)
FROM audit_auditevent e LEFT JOIN audit_auditseal s ON s.event_id = e.id WHERE e.id > %s"""


def _last(table: str) -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"SELECT max(id) FROM {table}")
        return int(cursor.fetchone()[0])


def _write(seconds: int) -> int:
    """Four writers, each 25 events ten times a second, a transaction each time."""
    counts = [0] * 4

    def act(place: int) -> None:
        from django.db import connection

        from audit import trail
        from audit.actions import Action

        end = time.monotonic() + seconds
        due = time.monotonic()
        while due < end:
            trail.record_all([trail.event(Action.LOG_READ, bench=number) for number in range(25)])
            counts[place] += 25
            due += 0.1
            time.sleep(max(0.0, due - time.monotonic()))
        connection.close()

    threads = [threading.Thread(target=act, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts)


if __name__ == "__main__":
    main()
