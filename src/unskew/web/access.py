"""Who may do what: links, cookies and bearer tokens; and that a request came from the page itself.

A link carries its code behind the #, which browsers do not send, so it is in no server's log. The page exchanges the
code for a cookie that scripts cannot read. Annotators' codes are tokens of the campaign and work until they are
revoked. The administrator's code works once, and the session it opens ends with the server.

Only somebody who shows a secret waits for a turn at the campaign. All others are refused at once.
"""

import hashlib
import hmac
import secrets
from threading import Lock
from typing import Annotated, Any, Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Request, Response, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from unskew.web.turns import Turns

Role = Literal["annotator", "admin"]
SAFE = ("GET", "HEAD", "OPTIONS")
DAYS = 30 * 24 * 3600
BEARER = HTTPBearer(auto_error=False, description="The token of an annotator's link, for scripts.")


class Tokens(Protocol):
    """The part of a campaign that knows its people."""

    def who(self, token: str) -> tuple[str, Any] | None: ...


class SignedIn(NamedTuple):
    """Who is signed in, and the secret they presented."""

    name: str
    role: Role
    secret: str

    @property
    def csrf(self) -> str:
        """What the page must send with its cookie. It is not stored, so pages survive a restart of the server."""
        return hmac.new(self.secret.encode(), b"csrf", hashlib.sha256).hexdigest()


class Access:
    """Codes, sessions and cookies of one campaign."""

    def __init__(self, tokens: Tokens, campaign: str, admin: str) -> None:
        self.tokens, self.admin = tokens, admin
        self._lock = Lock()
        self._codes: set[str] = set()
        self._sessions: set[str] = set()
        self._known: dict[str, str] = {}
        mark = hashlib.sha256(campaign.encode()).hexdigest()[:8]  # cookies are shared by all ports of a host
        self.cookies: dict[Role, str] = {"annotator": f"unskew-{mark}", "admin": f"unskew-{mark}-admin"}

    def admin_code(self) -> str:
        """A code that opens the progress page, once."""
        code = secrets.token_urlsafe(24)
        with self._lock:
            self._codes.add(_digest(code))
        return code

    def enter(self, code: str) -> SignedIn | None:
        """Who a link is for. A one-time code is used up and becomes a session."""
        with self._lock:
            if _digest(code) in self._codes:
                self._codes.remove(_digest(code))
                session = secrets.token_urlsafe(24)
                self._sessions.add(_digest(session))
                return SignedIn(self.admin, "admin", session)
        return self.find(code)

    def find(self, secret: str) -> SignedIn | None:
        """Who a cookie or a bearer token belongs to."""
        if _digest(secret) in self._sessions:
            return SignedIn(self.admin, "admin", secret)
        known = self.tokens.who(secret)
        if known is None:
            self._known.pop(_digest(secret), None)
            return None
        self._known[_digest(secret)] = known[0]
        return SignedIn(known[0], known[1], secret)

    def set_cookie(self, request: Request, response: Response, person: SignedIn) -> None:
        response.set_cookie(
            self.cookies[person.role], person.secret, max_age=DAYS if person.role == "annotator" else None,
            httponly=True, samesite="strict", secure=request.url.scheme == "https",
        )  # fmt: skip

    def from_cookie(self, request: Request, role: Role) -> SignedIn | None:
        secret = request.cookies.get(self.cookies[role])
        person = self.find(secret) if secret else None
        return person if person and person.role == role else None

    def labeller(self, request: Request) -> SignedIn | None:
        """Who labels here: an annotator, or else the administrator, who may label too."""
        return self.from_cookie(request, "annotator") or self.from_cookie(request, "admin")

    def shown(self, request: Request) -> list[str]:
        """The secrets that a request shows: a bearer token, or else cookies."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        bearer = [token] if kind.lower() == "bearer" else []
        cookies = [request.cookies.get(name, "") for name in self.cookies.values()]
        return [secret for secret in bearer or cookies if secret]

    def client(self, request: Request) -> str | None:
        """The name behind a request, to count requests. It comes from memory, because every request needs it."""
        digests = [_digest(secret) for secret in self.shown(request)]
        if not self._sessions.isdisjoint(digests):
            return self.admin
        return next((self._known[d] for d in digests if d in self._known), None)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def same_origin(request: Request) -> bool:
    """Whether the request was sent by one of our own pages, as far as the browser says."""
    origin = request.headers.get("origin")
    if origin is not None:
        try:
            return urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower()
        except ValueError:  # not an address
            return False
    return request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


async def own_page(request: Request) -> None:
    """Refuse a request that another site sent."""
    _refuse_others(request)


def _refuse_others(request: Request) -> None:
    if not same_origin(request):
        raise HTTPException(403, "this came from another site. Use the page itself.")


async def _signed_in(request: Request, bearer: HTTPAuthorizationCredentials | None, role: Role | None) -> SignedIn:
    access: Access = request.app.state.access
    turns: Turns = request.app.state.turns
    if not access.shown(request):
        raise _not_signed_in()
    return await turns.run(request, _found, access, request, bearer, role)


def _not_signed_in() -> HTTPException:
    return HTTPException(401, "not signed in. Open your link.", {"WWW-Authenticate": "Bearer"})


def _found(
    access: Access, request: Request, bearer: HTTPAuthorizationCredentials | None, role: Role | None
) -> SignedIn:
    if bearer is not None:
        person = access.find(bearer.credentials)
    else:
        person = access.from_cookie(request, "admin") if role == "admin" else access.labeller(request)
        if person is None and access.labeller(request) is not None:
            raise HTTPException(403, "only the administrator may do this.")
        if person is not None and request.method not in SAFE:
            _refuse_others(request)
            sent = request.headers.get("x-csrf-token", "")
            if not hmac.compare_digest(sent.encode(), person.csrf.encode()):
                raise HTTPException(403, "the request lacks the page's token. Reload the page.")
    if person is None:
        raise _not_signed_in()
    if role == "admin" and person.role != "admin":
        raise HTTPException(403, "only the administrator may do this.")
    return person


Bearer = Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)]


async def labeller(request: Request, bearer: Bearer) -> SignedIn:
    """Anyone who is signed in: by bearer token, or by cookie together with the page's token."""
    return await _signed_in(request, bearer, None)


async def administrator(request: Request, bearer: Bearer) -> SignedIn:
    """The administrator, in the same ways."""
    return await _signed_in(request, bearer, "admin")


Labeller = Annotated[SignedIn, Depends(labeller)]
Administrator = Annotated[SignedIn, Depends(administrator)]
