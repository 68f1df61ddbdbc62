"""Many viewers in one process: raw sockets and hand-read frames, so that a thousand of them cost less than what they look at."""

from __future__ import annotations

import asyncio
import json
import os
import struct
from collections.abc import Callable

TEXT, BINARY, CLOSE, PING = 1, 2, 8, 9


class Viewer(asyncio.Protocol):
    """One socket of the portal, or of the bare hub. `hear(kind, payload)` gets each message whole."""

    def __init__(self, host: str, path: str, cookie: str, hear: Callable[[int, bytes], None]) -> None:
        self.host, self.path, self.cookie, self.hear = host, path, cookie, hear
        self.up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport | None = None
        self._buffer = bytearray()

    async def open(self, unix: str = "") -> Viewer:
        """Connect and wait until the socket is accepted; raises ConnectionError where it is not."""
        loop = asyncio.get_running_loop()
        try:
            if unix:
                await loop.create_unix_connection(lambda: self, unix)
            else:
                name, _, port = self.host.partition(":")
                await loop.create_connection(lambda: self, name, int(port))
            await asyncio.wait_for(asyncio.shield(self.up), 60)
        except OSError as error:  # a time-out is one of them
            self.close()
            raise ConnectionError(str(error)) from error
        return self

    def say(self, **words: object) -> None:
        """A message to the other side, masked as a browser has to."""
        raw = json.dumps(words).encode()
        mask = os.urandom(4)
        length = bytes([0x80 | len(raw)]) if len(raw) < 126 else b"\xfe" + struct.pack(">H", len(raw))
        body = bytes(byte ^ mask[place % 4] for place, byte in enumerate(raw))
        if self.transport:
            self.transport.write(bytes([0x80 | TEXT]) + length + mask + body)

    def close(self) -> None:
        if self.transport:
            self.transport.abort()

    # --- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        lines = [
            f"GET {self.path} HTTP/1.1", f"Host: {self.host}", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
            f"Origin: http://{self.host}", f"Cookie: {self.cookie}",
        ]  # fmt: skip
        transport.write("\r\n".join([*lines, "", ""]).encode())

    def connection_lost(self, exc: Exception | None) -> None:
        for waiting in (self.up, self.lost):
            if not waiting.done():
                waiting.set_result(None) if waiting is self.lost else waiting.set_exception(ConnectionError("closed"))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self.up.done() and not self._accepted():
            return
        while (taken := self._frame()) is not None:
            kind, payload = taken
            if kind in (TEXT, BINARY):
                self.hear(kind, payload)
            elif kind == PING and self.transport:  # the other side counts only its own words said back
                self.transport.write(bytes([0x8A, 0x80 | len(payload)]) + bytes(4) + payload)
            elif kind == CLOSE:
                self.close()

    def _accepted(self) -> bool:
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return False
        if b" 101 " not in head[:20]:
            self.up.set_exception(ConnectionError(head[:80].decode()))
            self.close()
            return False
        self._buffer = rest
        self.up.set_result(None)
        return True

    def _frame(self) -> tuple[int, bytes] | None:
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        length, start = buffer[1] & 127, 2
        if length == 126:
            start = 4
            length = struct.unpack(">H", buffer[2:4])[0] if len(buffer) >= start else 1 << 62
        elif length == 127:
            start = 10
            length = struct.unpack(">Q", buffer[2:10])[0] if len(buffer) >= start else 1 << 62
        if len(buffer) < start + length:
            return None
        taken = buffer[0] & 15, bytes(buffer[start : start + length])
        del buffer[: start + length]
        return taken


async def opened(viewers: list[Viewer], unix: str = "", at_once: int = 20) -> None:
    """All of them connected, a few at a time, as people come."""
    for first in range(0, len(viewers), at_once):
        await asyncio.gather(*(viewer.open(unix) for viewer in viewers[first : first + at_once]))
