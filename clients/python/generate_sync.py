"""Makes the sync client from the async one. With ``--check`` it says whether the file is as it would make it."""

import re
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "src" / "sheaf_client"

WORDS = [
    ("AsyncBaseTransport", "BaseTransport"),
    ("AsyncSheaf", "Sheaf"),
    ("AsyncCollection", "Collection"),
    ("AsyncClient", "Client"),
    ("AsyncIterator", "Iterator"),
    ("AsyncIterable", "Iterable"),
    ("__aenter__", "__enter__"),
    ("__aexit__", "__exit__"),
    ("aiter_lines", "iter_lines"),
    ("aread", "read"),
    ("aclose", "close"),
    ("asyncio.sleep", "time.sleep"),
    ("import asyncio\nimport json\nimport random\nimport uuid", "import json\nimport random\nimport time\nimport uuid"),
    ("async def ", "def "),
    ("async with ", "with "),
    ("async for ", "for "),
    ("await ", ""),
    (
        '"""The async client. ``_client.py`` is made from this file by ``python generate_sync.py``."""',
        '"""The sync client, made from ``_async_client.py`` by ``python generate_sync.py``: change that."""',
    ),
    ("Iterable, Iterator, Dict, Iterable, List,", "Dict, Iterable, Iterator, List,"),
]


def made() -> str:
    text = (FOLDER / "_async_client.py").read_text()
    for word, replacement in WORDS:
        text = text.replace(word, replacement)
    left = re.search(r"\b(async|await|asyncio)\b(?!_client)", text.replace("_async_client", ""))
    if left:
        raise SystemExit(f"{left.group()} is left")
    return text


if __name__ == "__main__":
    target = FOLDER / "_client.py"
    if "--check" in sys.argv:
        if target.read_text() != made():
            raise SystemExit("_client.py is not what generate_sync.py makes: run it")
    else:
        target.write_text(made())
