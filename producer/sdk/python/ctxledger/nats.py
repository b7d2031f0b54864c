"""The transport over NATS: events go straight to JetStream, without a gateway.

It speaks the few verbs of the NATS protocol that a publisher needs, because the SDK has no
dependency and its client is made of threads. A program that has to sign in with credentials or
nkeys uses the gateway."""
from __future__ import annotations

import base64
import hashlib
import json
import secrets
import socket
import ssl
import threading
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple
from urllib.parse import unquote, urlsplit

_ALIVE = 30.0  # seconds between two pings of this client
_HEADERS = 200  # bytes of an event's headers, at most
_TOO_LARGE = 10054  # JetStream's code for a message above the limit of the stream

Verdict = Dict[str, Any]  # verdict is stored, refused (with violations) or waits (with error)


class Nats:
    """Nats publishes events. Safe for concurrent use. The first event connects; a connection that
    ended is opened again by the next one."""

    def __init__(self, url: str, source: str, tenant: str = "default", timeout: float = 5.0) -> None:
        self._servers = _parse(url)
        self.name = "NATS at " + ",".join(f"{server.hostname}:{server.port or 4222}" for server in self._servers)
        self._source, self._tenant, self._timeout = source, tenant, timeout
        self._notices_on = f"ctxnotice.v1.{_token(tenant)}.{_bucket(source)}.quarantined"
        self._lock = threading.Lock()
        self._link: Optional[_Link] = None
        self._heard: Deque[Dict[str, Any]] = deque(maxlen=10_000)
        self._tried: set[str] = set()  # message ids whose acknowledgement did not come

    def send(self, documents: List[bytes]) -> List[Verdict]:
        """send publishes events, and returns a verdict for each. It raises an OSError if no server
        can be reached."""
        with self._lock:
            link = self._connected()
            try:
                return self._publish(link, documents)
            except OSError:
                link.close()
                raise

    def _publish(self, link: "_Link", documents: List[bytes]) -> List[Verdict]:
        verdicts: List[Verdict] = [{}] * len(documents)
        sent: List[Tuple[int, str, str]] = []
        for i, document in enumerate(documents):
            event = json.loads(document)
            size = len(document) + _HEADERS
            if size > link.most:
                found = f"an event of {size} bytes, and the server accepts {link.most}"
                verdicts[i] = _too_large(found)
                continue
            type = event["type"].removeprefix("dev.ctxledger.").removesuffix(".v1")
            sent.append((i, _subject(self._tenant, event.get("runtimeid", ""), event.get("sessionid", ""), type), _message_id(event["source"], event["id"])))
        answers = link.publish([(subject, id, documents[i]) for i, subject, id in sent], self._timeout)
        # If another message has an id, a random one makes JetStream store the event. The ledger
        # counts an event once, whatever its message id is.
        again = [n for n, (_, _, id) in enumerate(sent) if answers[n].get("duplicate") and id not in self._tried]
        for n, answer in zip(again, link.publish([(sent[n][1], secrets.token_urlsafe(18), documents[sent[n][0]]) for n in again], self._timeout)):
            answers[n] = answer
        for (i, _, id), answer in zip(sent, answers):
            error = answer.get("error")
            if error is None:
                verdicts[i] = {"verdict": "stored"}
                self._tried.discard(id)
            elif error.get("err_code") == _TOO_LARGE:
                verdicts[i] = _too_large(f"an event of {len(documents[i])} bytes, which the stream does not accept")
            else:
                self._tried.add(id)
                verdicts[i] = {"verdict": "waits", "error": error.get("description", "the server did not say why")}
        return verdicts

    def notices(self) -> List[Dict[str, Any]]:
        """notices returns the notices of the source that came since the last question."""
        found = []
        while self._heard:
            found.append(self._heard.popleft())
        return found

    def close(self) -> None:
        """close ends the connection."""
        if self._link:
            self._link.close()

    def _connected(self) -> "_Link":
        if self._link is None or self._link.error is not None:
            failed: Optional[OSError] = None
            for server in self._servers:
                try:
                    self._link = _Link(server, self._servers[0], self._tenant, self._notices_on, self._hear, self._timeout)
                    return self._link
                except OSError as error:
                    failed = error
            raise failed or OSError("no address")
        return self._link

    def _hear(self, payload: bytes) -> None:
        try:
            notice = json.loads(payload)
        except ValueError:
            return
        if isinstance(notice, dict) and notice.get("source") == self._source:
            self._heard.append(notice)


class _Link:
    """_Link is one connection with the thread that reads it."""

    def __init__(self, server: Any, account: Any, tenant: str, notices: str, hear: Callable[[bytes], None], timeout: float) -> None:
        self.error: Optional[OSError] = None
        self._tenant = tenant
        self._inbox = "_INBOX." + secrets.token_hex(12)
        self._hear = hear
        self._count = 0
        self._answers: Dict[str, Optional[Dict[str, Any]]] = {}  # by reply subject; None waits
        self._subjects: Dict[str, str] = {}  # of the messages that wait, by reply subject
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._socket: socket.socket = socket.create_connection((server.hostname, server.port or 4222), timeout)
        try:
            self._open(server, account, notices)
        except BaseException:
            self._socket.close()
            raise
        threading.Thread(target=self._read, name="ctxledger-nats", daemon=True).start()
        threading.Thread(target=self._keep_alive, name="ctxledger-nats-alive", daemon=True).start()

    def _open(self, server: Any, account: Any, notices: str) -> None:
        first = b""
        try:
            while not first.endswith(b"\r\n") and len(first) < 1 << 16:  # byte by byte: what follows may be TLS
                byte = self._socket.recv(1)
                if not byte:
                    break
                first += byte
        except TimeoutError:
            pass
        if not first.startswith(b"INFO "):
            raise OSError("no NATS server answered; check the host and the port")
        info = json.loads(first[5:])
        self.most = int(info.get("max_payload", 1 << 20))
        if account.scheme == "tls" or info.get("tls_required"):
            if not info.get("tls_required") and not info.get("tls_available"):
                raise OSError("the server has no TLS; with nats:// the connection is not encrypted")
            self._encrypt(server.hostname)
        options: Dict[str, Any] = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "lang": "python-ctxledger", "version": "0.1.0", "protocol": 1}
        if account.password is not None:
            options.update(user=unquote(account.username or ""), **{"pass": unquote(account.password)})
        elif account.username:
            options["auth_token"] = unquote(account.username)
        self._file = self._socket.makefile("rb")
        self._write(b"CONNECT " + json.dumps(options).encode() + b"\r\nPING\r\n")
        while (line := self._file.readline()) != b"PONG\r\n":
            if line.startswith(b"-ERR") or not line:
                said = line[5:].decode(errors="replace").strip(" '\r\n") or "it closed the connection"
                raise PermissionError(
                    f"the server refused the sign-in ({said}): check the user and password, or the token, in the address; for credentials and nkeys use a gateway")
        self._socket.settimeout(None)
        self._write(f"SUB {self._inbox}.* 1\r\nSUB {notices} 2\r\n".encode())

    def _encrypt(self, host: str) -> None:
        try:
            self._socket = ssl.create_default_context().wrap_socket(self._socket, server_hostname=host)
        except ssl.SSLCertVerificationError as error:
            fix = "if the authority is your own, set SSL_CERT_FILE to the file of its certificate"
            if error.verify_code in (62, 64):  # another host or IP address
                fix = "use a host name that the certificate has"
            raise OSError(f"the certificate is not accepted ({error.verify_message}): {fix}") from error

    def publish(self, messages: List[Tuple[str, str, bytes]], timeout: float) -> List[Dict[str, Any]]:
        """publish sends messages (subject, id, document) and returns the answer to each. The time
        limit is that of an answer after the one before."""
        if not messages:
            return []
        replies, text = [], bytearray()
        for subject, id, document in messages:
            self._count += 1
            reply = f"{self._inbox}.{self._count}"
            replies.append(reply)
            headers = f"NATS/1.0\r\ncontent-type: application/cloudevents+json\r\nNats-Msg-Id: {id}\r\n\r\n".encode()
            text += f"HPUB {subject} {reply} {len(headers)} {len(headers) + len(document)}\r\n".encode() + headers + document + b"\r\n"
        with self._changed:
            self._answers.update((reply, None) for reply in replies)
            self._subjects.update((reply, subject) for reply, (subject, _, _) in zip(replies, messages))
        try:
            self._write(bytes(text))
            answers = []
            for reply in replies:
                with self._changed:
                    end = time.monotonic() + timeout
                    while self._answers[reply] is None and self.error is None and time.monotonic() < end:
                        self._changed.wait(max(0.001, end - time.monotonic()))
                    answer = self._answers[reply]
                    if answer is None and self.error is not None:
                        raise self.error
                answers.append(answer or {"error": {"description": f"no acknowledgement within {timeout:g} s"}})
            return answers
        finally:
            with self._changed:
                for reply in replies:
                    self._answers.pop(reply, None)
                    self._subjects.pop(reply, None)

    def close(self) -> None:
        self._fail(OSError("the connection is closed"))
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()

    def _write(self, text: bytes) -> None:
        with self._writing:
            self._socket.sendall(text)

    def _keep_alive(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self.error is not None, _ALIVE)
                if self.error is not None:
                    return
            try:
                self._write(b"PING\r\n")
            except OSError as error:
                self._fail(error)

    def _read(self) -> None:
        try:
            while line := self._file.readline():
                self._take(line.split())
            raise OSError("the server closed the connection")
        except (OSError, ValueError, IndexError) as error:
            self._fail(error if isinstance(error, OSError) else OSError(f"the server sent what is not the NATS protocol: {error}"))

    def _take(self, words: List[bytes]) -> None:
        verb = words[0].upper() if words else b""
        if verb == b"PING":
            self._write(b"PONG\r\n")
        elif verb == b"-ERR" and b" ".join(words[1:3]).lower() == b"'permissions violation":
            self._deny(b" ".join(words[1:]).decode(errors="replace").strip("'"))
        elif verb == b"-ERR":
            raise OSError("the server ended the connection: " + b" ".join(words[1:]).decode(errors="replace").strip("'"))
        elif verb in (b"MSG", b"HMSG"):
            whole = self._file.read(int(words[-1]))
            self._file.readline()
            start = int(words[-2]) if verb == b"HMSG" else 0
            if words[2] == b"2":
                self._hear(whole[start:])
                return
            answer: Any = {"error": {"description": "no stream takes this subject; start `ctxledger up`, or create the streams with `ctxledger migrate`"}}
            if not whole[:start].startswith(b"NATS/1.0 503"):
                answer = json.loads(whole[start:])
            with self._changed:
                reply = words[1].decode()
                if reply in self._answers:
                    self._answers[reply] = answer
                    self._changed.notify_all()

    def _deny(self, said: str) -> None:
        """_deny answers the messages on a subject that the user may not publish on. Without the
        permission to subscribe, there are no notices."""
        answer = {"error": {"description": f"{said}: this user may not publish for the tenant {self._tenant}; set the tenant of the user"}}
        with self._changed:
            for reply, subject in self._subjects.items():
                if f'Publish to "{subject}"' in said and self._answers[reply] is None:
                    self._answers[reply] = answer
            self._changed.notify_all()

    def _fail(self, error: OSError) -> None:
        with self._changed:
            self.error = self.error or error
            self._changed.notify_all()


def _parse(text: str) -> List[Any]:
    """_parse returns the addresses of a list. Its error holds no part of a password."""
    try:
        servers = [urlsplit(one.strip()) for one in text.split(",")]
        if all(s.scheme in ("nats", "tls") and s.hostname and (s.port or True) and s.path in ("", "/") and not s.query and not s.fragment for s in servers):
            return servers
    except ValueError:
        pass
    raise ValueError("the address of NATS is malformed: write nats://user:password@host:4222, or tls://, and percent-encode the special characters of the password")


def _too_large(found: str) -> Verdict:
    return {"verdict": "refused", "violations": [{"code": "too_large", "pointer": "", "found": found, "fix": "record the text by reference"}]}


def _subject(tenant: str, runtime: str, session: str, type: str) -> str:
    """_subject is ctx.v1.<tenant>.<runtime>.<bucket>.<object>.<verb>."""
    object, _, verb = type.removeprefix("context.").partition(".")
    last = [object, verb] if verb else ["context", object]
    return ".".join(["ctx", "v1", *map(_token, [tenant or "default", runtime or "unnamed", _bucket(session), *last])])


def _bucket(session: str) -> str:
    """_bucket is that of a session, p00 to pff: FNV-1a 32, folded to 8 bits."""
    sum = 2166136261
    for byte in session.encode():
        sum = (sum ^ byte) * 16777619 & 0xFFFFFFFF
    return f"p{(sum >> 24 ^ sum >> 16 ^ sum >> 8 ^ sum) & 0xFF:02x}"


def _token(text: str) -> str:
    """_token is one token of a subject: every byte except letters, digits, - and _ is %XX."""
    return "".join(chr(b) if chr(b).isascii() and (chr(b).isalnum() or chr(b) in "-_") else f"%{b:02X}" for b in text.encode()) or "%"


def _message_id(source: str, id: str) -> str:
    """_message_id is the first 18 bytes of a SHA-256 over source and id, each after its length."""
    digest = hashlib.sha256()
    for field in (source.encode(), id.encode()):
        n, length = len(field), bytearray()
        while n >= 0x80:
            length.append(n & 0x7F | 0x80)
            n >>= 7
        digest.update(bytes([*length, n]) + field)
    return base64.urlsafe_b64encode(digest.digest()[:18]).decode()
