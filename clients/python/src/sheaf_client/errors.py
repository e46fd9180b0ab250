"""What the methods of the clients raise."""

from __future__ import annotations

from typing import Any, Dict, Optional


class SheafError(Exception):
    """The server has refused a request.

    ``code`` names the reason (docs/reference/errors.md of the server), ``status`` is the HTTP status, ``details`` says
    more where there is more, and ``request_id`` finds the request in the log of the server.
    """

    def __init__(self, status: int, body: Dict[str, Any], retry_after: Optional[float] = None) -> None:
        self.status = status
        self.code: str = str(body.get("code", "unknown"))
        self.details: Dict[str, Any] = body.get("details") or {}
        self.request_id: Optional[str] = body.get("request_id")
        self.retry_after = retry_after
        super().__init__(f"{self.code}: {body.get('error') or body.get('message') or status}")


class SheafNotFound(SheafError):
    """404: the collection, the document, or what else was asked for does not exist."""


class SheafConflict(SheafError):
    """409 and 412: the request does not fit what is there, such as another version of a document."""


class SheafUnavailable(SheafError):
    """429 and 503: the server cannot do it now. The same request may succeed after ``retry_after`` seconds."""


class SheafUnreachable(Exception):
    """The server has not answered. A write may have been made."""


def error_of(status: int, body: Dict[str, Any], retry_after: Optional[float]) -> SheafError:
    """The error of an answer."""
    if status == 404:
        return SheafNotFound(status, body, retry_after)
    if status in (409, 412):
        return SheafConflict(status, body, retry_after)
    if status in (429, 503):
        return SheafUnavailable(status, body, retry_after)
    return SheafError(status, body, retry_after)
