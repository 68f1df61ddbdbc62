"""The hub under a long row of random events, seed by seed."""

from __future__ import annotations

import asyncio
import random

import pytest

from jobs import hub as hub_module
from jobs import viewing
from logs.client import Chunk, Generation
from logs.generations import same
from tests.jobs.live import Log, Watcher, new, settle


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_happens_each_viewer_has_the_file_or_knows_what_it_lacks(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "MEMORY", 3_000)
    monkeypatch.setattr(hub_module, "MAX_BEHIND", 0.02)
    monkeypatch.setattr(hub_module, "TAIL", 500)
    monkeypatch.setattr(viewing, "PAUSE", 0.005)
    monkeypatch.setattr(hub_module, "FIRST_PAUSE", 0.005)
    monkeypatch.setattr(hub_module, "LONGEST_PAUSE", 0.01)
    rng = random.Random(seed)
    log = Log(rng.randbytes(2_000), piece=200)
    hubs, watchers = new(log), list[Watcher]()
    for _ in range(150):
        match rng.randrange(12):
            case 0:
                log.rewrite(rng.randbytes(rng.randrange(3_000)))
            case 1:
                log.tell(down=not log.down)
            case 2:
                log.tell(state=rng.choice(["open", "open", "gone"]))
            case 3 | 4:
                watchers.append(Watcher(hubs, log, rng.randrange(-3_000, 3_000), pause=rng.choice([0, 0, 0.003])))
            case 5 if watchers:
                await watchers.pop(rng.randrange(len(watchers))).close()
            case 6:
                hubs.renew("job")
            case _:
                log.write(rng.randbytes(rng.randrange(1_500)))
        await asyncio.sleep(rng.choice([0, 0, 0.001, 0.004]))
        for watcher in watchers:
            assert not watcher.task.done(), watcher.task.result()
    log.tell(down=False, state="open")
    log.write(b"the very end")
    for watcher in watchers:
        await watcher.until(lambda seen: _has_the_end(seen, log), 20)
        assert all(log.text[start : start + len(row)] == row for start, row in watcher.data.items())
        await watcher.close()
    await settle(lambda: log.open_follows == 0)


def _has_the_end(seen: Watcher, log: Log) -> bool:
    told = [event.generation for event in seen.events if isinstance(event, Chunk | Generation) and event.generation]
    return bool(told) and same(told[-1], log.generation) and (seen._at or 0) >= len(log.text)
