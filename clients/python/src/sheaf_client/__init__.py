"""Client of the Sheaf text retrieval server."""

from ._async_client import AsyncCollection, AsyncSheaf
from ._client import Collection, Sheaf
from .errors import SheafConflict, SheafError, SheafNotFound, SheafUnavailable, SheafUnreachable

__all__ = [
    "AsyncCollection",
    "AsyncSheaf",
    "Collection",
    "Sheaf",
    "SheafConflict",
    "SheafError",
    "SheafNotFound",
    "SheafUnavailable",
    "SheafUnreachable",
]
