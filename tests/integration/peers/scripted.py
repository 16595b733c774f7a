"""A peer whose every byte the test decides: real TLS 1.3 with a valid certificate, HELLO by the codecs, then anything.

    with dial(site_address, context(directory / "rogue")) as lane:
        lane.come_up(hello("rogue", "west"))
        lane.send(encode(FrameType.OPEN, 1, 0, encode_open("array", "here")))
        code, reason = lane.close_of()

`dial` plays the dialler, `Answerer` the site that is dialled. Everything blocks, and no wait is longer than PATIENCE.
"""

import os
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.sites import Address
from dedupstore.fingerprint import fingerprint
from proxy.protocol.codes import CloseCode, FrameType, ResetCode
from proxy.protocol.frames import decode_close, decode_credit, decode_reset, encode_ack, encode_open
from proxy.protocol.hello import Hello
from proxy.protocol.reader import Frame, encode
from proxy.reduction.batch import CODEC_NONE, assemble
from proxy.reduction.tokens import learn_token, literal_token
from tests.patience import PATIENCE
from tests.unit.protocol.playbook import lane_reader


class Ended(Exception):
    """The connection is over: in order, by a reset, or by a TLS alert, which the message names."""


def context(identity: Path | None, *, answering: bool = False, version: ssl.TLSVersion | None = None) -> ssl.SSLContext:
    """A side that shows `<identity>.crt`, if any, and believes whatever the other shows."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if answering else ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    if identity is not None:
        made.load_cert_chain(identity.with_suffix(".crt"), identity.with_suffix(".key"))
    return made


def asking(identity: Path, trusted: Path) -> ssl.SSLContext:
    """An answerer that demands the other's certificate and takes only that one."""
    made = context(identity, answering=True)
    made.load_verify_locations(trusted)
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    made.verify_mode = ssl.CERT_REQUIRED
    return made


class ScriptedLane:
    """One TLS connection to a site. A context manager; leaving it closes the connection without a word."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self.connection = connection
        self.capabilities: frozenset[int] = frozenset()
        """What its HELLO named."""
        self._reader = lane_reader()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.connection.close()

    # -- frames ------------------------------------------------------------------------------------------------

    def send(self, *frames: bytes) -> None:
        """All in one write; that the site has closed meanwhile is told by `receive`."""
        try:
            self.connection.sendall(b"".join(frames))
        except TimeoutError:
            raise
        except OSError:
            pass

    def receive(self) -> Frame:
        """The next frame. Raises Ended; TimeoutError if nothing comes."""
        while (frame := self._reader.next_frame()) is None:
            try:
                count = self.connection.recv_into(self._reader.get_buffer())
            except TimeoutError:
                raise
            except OSError as error:
                raise Ended(str(error)) from None
            if not count:
                raise Ended("in order")
            self._reader.received(count)
        return frame._replace(payload=bytes(frame.payload))

    def expect(self, kind: FrameType) -> Frame:
        """The next frame of that type; others are skipped, but for RESET and CLOSE."""
        while (frame := self.receive()).type != kind:
            if frame.type == FrameType.CLOSE:
                raise Ended(f"closed: {decode_close(frame.payload)}")
            if frame.type == FrameType.RESET:
                raise Ended(f"stream {frame.stream} was reset: {decode_reset(frame.payload)}")
        return frame

    def credit_of(self, stream: int, consumed: int = 0) -> int:
        """The limit that the site names next for that stream, of which so much at least was consumed."""
        while True:
            for number, taken, limit in decode_credit(self.expect(FrameType.CREDIT).payload):
                if number == stream and taken >= consumed:
                    return limit

    def close_of(self) -> tuple[CloseCode, str]:
        """Code and reason of the CLOSE that the site sends next; other frames are skipped."""
        while (frame := self.receive()).type != FrameType.CLOSE:
            pass
        return decode_close(frame.payload)

    def reset_of(self, stream: int) -> tuple[ResetCode, str]:
        """Code and reason of the stream's RESET; other frames are skipped, but for CLOSE."""
        while (frame := self.receive()).type != FrameType.RESET or frame.stream != stream:
            if frame.type == FrameType.CLOSE:
                raise Ended(f"closed: {decode_close(frame.payload)}")
        return decode_reset(frame.payload)

    def ending(self) -> str:
        """Read to the end of the connection; how it ended."""
        try:
            while True:
                self.receive()
        except Ended as ended:
            return str(ended)

    # -- the beginning of a lane ---------------------------------------------------------------------------------

    def greet(self, hello: Hello) -> None:
        """Send HELLO."""
        self.capabilities = hello.capabilities
        self.send(encode(FrameType.HELLO, 0, 0, hello.encode()))

    def come_up(self, mine: Hello) -> Hello:
        """As dialler: exchange HELLO and the tunnel's (empty) state; what the site said."""
        self.greet(mine)
        said = Hello.decode(self.expect(FrameType.HELLO).payload)
        self.send(STATE)
        return said

    def answer(self, name: str, **changes: Any) -> Hello:
        """As answerer: the same the other way round."""
        said = Hello.decode(self.expect(FrameType.HELLO).payload)
        self.greet(hello(name, said.site, known_half=said.half, **changes))
        self.send(STATE)
        return said


STATE = encode(FrameType.ACK, 0, 0, encode_ack([]))
"""What begins a lane of a tunnel without streams."""


def hello(caller: str, called: str, **changes: Any) -> Hello:
    """A HELLO that the called site accepts, but for the changes."""
    return replace(
        Hello(
            site=caller,
            peer=called,
            half=os.urandom(16),
            known_half=None,
            store=os.urandom(16),
            epochs=(os.urandom(8),),
            initial_credit=1 << 20,
            streams=1024,
            capabilities=frozenset((1, 2)),
            software="scripted",
        ),
        **changes,
    )


def dial(address: Address, tls: ssl.SSLContext, session: ssl.SSLSession | None = None) -> ScriptedLane:
    """Connect. Raises OSError; with TLS 1.3 a refused certificate shows only when something is received.

    `session`: of an earlier connection, to be resumed.
    """
    connection = socket.create_connection(address, timeout=PATIENCE)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        return ScriptedLane(tls.wrap_socket(connection, session=session))
    except OSError:
        connection.close()
        raise


class Answerer:
    """A tunnel listener whose every lane is handed to `serve`, in a thread of its own. A context manager.

    A handshake that fails is noted in `failures`.
    """

    def __init__(self, tls: ssl.SSLContext, serve: Callable[[ScriptedLane], None]) -> None:
        self.failures: list[str] = []
        self.lanes = 0
        self.tls = tls
        """For the connections that come; another one may be set at any time."""
        self._serve = serve
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: Address = self._listener.getsockname()[:2]
        self._threads = [threading.Thread(target=self._accept, name="answerer", daemon=True)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(PATIENCE)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed by __exit__
                return
            self.lanes += 1
            thread = threading.Thread(target=self._shake_hands, args=[connection], name="answerer lane", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _shake_hands(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE)
        try:
            with ScriptedLane(self.tls.wrap_socket(connection, server_side=True)) as lane:
                self._serve(lane)
        except OSError as error:
            self.failures.append(str(error))
        except Ended as ended:
            self.failures.append(str(ended))
        finally:
            connection.close()


# -- frames that a good peer would send ------------------------------------------------------------------------------


def open_(stream: int, export: str = "array", origin: str = "192.0.2.1:49152") -> bytes:
    """OPEN."""
    return encode(FrameType.OPEN, stream, 0, encode_open(export, origin))


def data(stream: int, number: int, content: bytes) -> bytes:
    """DATA that delivers the content as literal bytes and says nothing of chunks."""
    return encode(FrameType.DATA, stream, number, literals(content))


def literals(content: bytes) -> bytes:
    """A batch of one LITERAL."""
    return assemble(len(content), CODEC_NONE, literal_token(len(content)), len(content), [content])


def lesson(content: bytes, name: bytes | None = None) -> bytes:
    """A batch that delivers the content and has it learned as one chunk, by its own or another name."""
    tokens = literal_token(len(content)) + learn_token(len(content), name or fingerprint(content))
    return assemble(len(content), CODEC_NONE, tokens, len(content), [content])
