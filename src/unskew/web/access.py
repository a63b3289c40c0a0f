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
from fastapi.requests import HTTPConnection
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from unskew.web.turns import Turns

Role = Literal["annotator", "admin"]
SAFE = ("GET", "HEAD", "OPTIONS")
DAYS = 30 * 24 * 3600
OPEN = "not signed in. Open your link."
ENDED = {
    "revoked": "Your link was revoked. Ask the person who runs the campaign for a new one.",
    "replaced": "Your link was replaced by a newer one. Open that one, or ask the person who runs the campaign for it.",
}
RESTARTED = "Your session ended when the server was restarted. It printed a new link for you when it started."
USED = "This link was used already, and it works only once. The server prints a new one when it is started again."
UNKNOWN = (
    "This link is not known here. Check that you copied all of it. "
    "If you run the campaign, open the link that the server printed when it was last started."
)
BEARER = HTTPBearer(auto_error=False, description="The token of an annotator's link, for scripts.")


class Tokens(Protocol):
    """The part of a campaign that knows its people."""

    def who(self, token: str) -> tuple[str, Any] | None: ...
    def ended(self, token: str) -> str | None: ...


class SignedIn(NamedTuple):
    """Who is signed in, and the secret they presented."""

    name: str
    role: Role
    secret: str

    @property
    def csrf(self) -> str:
        """What the page must send with its cookie. It is not stored, so pages survive a restart of the server."""
        return hmac.new(self.secret.encode(), b"csrf", hashlib.sha256).hexdigest()


class Admins:
    """The administrator of a server: one-time codes, and the sessions they opened. All campaigns of it share them."""

    def __init__(self, name: str, server: str) -> None:
        self.name = name
        self.cookie = f"unskew-{_mark(server)}-admin"
        self._lock = Lock()
        self._codes: set[str] = set()
        self._used: set[str] = set()
        self._sessions: set[str] = set()

    def code(self) -> str:
        """A code that signs the administrator in, once."""
        code = secrets.token_urlsafe(24)
        with self._lock:
            self._codes.add(_digest(code))
        return code

    def expects(self, code: str) -> bool:
        """Whether this code was made and not used yet."""
        return _digest(code) in self._codes

    def used(self, code: str) -> bool:
        """Whether this code signed the administrator in before."""
        return _digest(code) in self._used

    def enter(self, code: str) -> SignedIn | None:
        """A session in exchange for a code, which is used up."""
        with self._lock:
            if _digest(code) not in self._codes:
                return None
            self._codes.remove(_digest(code))
            self._used.add(_digest(code))
            session = secrets.token_urlsafe(24)
            self._sessions.add(_digest(session))
        return SignedIn(self.name, "admin", session)

    def find(self, secret: str) -> SignedIn | None:
        """The administrator, if the secret is that of a session."""
        return SignedIn(self.name, "admin", secret) if _digest(secret) in self._sessions else None

    def leave(self, secret: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.discard(_digest(secret))


class Access:
    """Codes, sessions and cookies of one campaign."""

    def __init__(self, tokens: Tokens, campaign: str, admins: Admins) -> None:
        self.tokens, self.admins = tokens, admins
        self._known: dict[str, str] = {}
        self.cookies: dict[Role, str] = {"annotator": f"unskew-{_mark(campaign)}", "admin": admins.cookie}

    def enter(self, code: str) -> SignedIn | None:
        """Who a link is for. A one-time code is used up and becomes a session."""
        return self.admins.enter(code) or self.find(code)

    def meant_for(self, code: str) -> str | None:
        """The name of the person a link is for. Nothing is used up."""
        known = self.find(code)
        return self.admins.name if self.admins.expects(code) else known and known.name

    def why_not(self, code: str) -> str:
        """Why a link opens nothing, for the person who opened it."""
        return USED if self.admins.used(code) else ENDED.get(self.tokens.ended(code) or "", UNKNOWN)

    def leave(self, response: Response, person: SignedIn) -> None:
        """Sign somebody out in this browser. An administrator who labels as somebody else is themselves again."""
        if person.role == "admin":
            self.admins.leave(person.secret)
        self.forget(response, person.role)

    def forget(self, response: Response, role: Role) -> None:
        response.delete_cookie(self.cookies[role], httponly=True, samesite="strict")

    def signed_out(self, request: Request) -> str:
        """Why the secrets that a request shows sign nobody in, for the person who sent it."""
        why = next((why for why in map(self.tokens.ended, self.shown(request)) if why), None)
        if why is not None:
            return ENDED[why]
        return RESTARTED if request.cookies.get(self.cookies["admin"]) else OPEN

    def find(self, secret: str) -> SignedIn | None:
        """Who a cookie or a bearer token belongs to."""
        if (admin := self.admins.find(secret)) is not None:
            return admin
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

    def shown(self, request: HTTPConnection) -> list[str]:
        """The secrets that a request shows: a bearer token, or else cookies."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        bearer = [token] if kind.lower() == "bearer" else []
        cookies = [request.cookies.get(name, "") for name in self.cookies.values()]
        return [secret for secret in bearer or cookies if secret]

    def client(self, request: HTTPConnection) -> str | None:
        """The name behind a request, to count requests. It comes from memory, because every request needs it."""
        shown = self.shown(request)
        admin = next((found.name for found in map(self.admins.find, shown) if found), None)
        return admin or next((self._known[d] for d in map(_digest, shown) if d in self._known), None)


def _mark(name: str) -> str:
    """A part of the names of cookies, which all ports of a host share."""
    return hashlib.sha256(name.encode()).hexdigest()[:8]


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
        raise _not_signed_in(OPEN)
    return await turns.run(request, _found, access, request, bearer, role)


def _not_signed_in(why: str) -> HTTPException:
    return HTTPException(401, why, {"WWW-Authenticate": "Bearer"})


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
            if not _from_page_of(person, request):
                raise HTTPException(403, "this page was opened before somebody else signed in here. Reload the page.")
    if person is None:
        raise _not_signed_in(access.signed_out(request))
    if role == "admin" and person.role != "admin":
        raise HTTPException(403, "only the administrator may do this.")
    return person


def _from_page_of(person: SignedIn, request: Request) -> bool:
    """Whether the request carries the token of a page that was made for this person."""
    return hmac.compare_digest(request.headers.get("x-csrf-token", "").encode(), person.csrf.encode())


Bearer = Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)]


async def labeller(request: Request, bearer: Bearer) -> SignedIn:
    """Anyone who is signed in: by bearer token, or by cookie together with the page's token."""
    return await _signed_in(request, bearer, None)


async def administrator(request: Request, bearer: Bearer) -> SignedIn:
    """The administrator, in the same ways."""
    return await _signed_in(request, bearer, "admin")


async def reader(request: Request) -> SignedIn:
    """Whoever the page at hand was made for: an administrator may have another page open as somebody else."""
    _refuse_others(request)
    access: Access = request.app.state.access
    turns: Turns = request.app.state.turns

    def found() -> SignedIn:
        people = [access.from_cookie(request, role) for role in access.cookies]
        person = next((person for person in people if person and _from_page_of(person, request)), None)
        if person is None:
            raise _not_signed_in(access.signed_out(request))
        return person

    if not access.shown(request):
        raise _not_signed_in(OPEN)
    return await turns.run(request, found)


Labeller = Annotated[SignedIn, Depends(labeller)]
Administrator = Annotated[SignedIn, Depends(administrator)]
Reader = Annotated[SignedIn, Depends(reader)]
