"""The async client. ``_client.py`` is made from this file by ``python generate_sync.py``."""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any, AsyncIterable, AsyncIterator, Dict, Iterable, List, Mapping, Optional, Sequence, Type, Union
from urllib.parse import quote

import httpx

from ._evaluation import documents_of, evaluation_of, scores_of
from .errors import SheafUnavailable, SheafUnreachable, error_of
from .types import (
    BatchAnswer,
    BatchItem,
    CollectionDetail,
    CountAnswer,
    Evaluation,
    Event,
    Filters,
    Ingested,
    Json,
    SearchAnswer,
    SearchHit,
    StoredDocument,
)

RETRIES = 3
#: Documents of one request of ``add_many``, and searches of one request of ``search_many``.
BATCH = 256
SEARCHES = 64


def path_of(*parts: str) -> str:
    """The path of an address, whose parts may have any characters."""
    return "/" + "/".join(quote(part, safe=":") for part in parts)


class AsyncSheaf:
    """A server, or a cluster.

    ``url`` is its address, or those of several nodes: where one does not answer, the next one is asked, and shows what has
    been written before. ``key`` is the key of a tenant or of the admin where the server wants one, ``tenant`` the tenant
    of ``collection``. Requests that were not answered, or with 429 or 503, are repeated up to three times; writes are then
    made once, because they have an idempotency key. Use it as a context manager, or call ``aclose`` at the end.
    """

    def __init__(
        self,
        url: Union[str, Sequence[str]] = "http://127.0.0.1:8080",
        *,
        key: Optional[str] = None,
        tenant: str = "default",
        timeout: float = 30.0,
        transport: Optional[httpx.AsyncBaseTransport] = None,
    ) -> None:
        self.tenant = tenant
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        self._http = httpx.AsyncClient(headers=headers, timeout=timeout, transport=transport)
        # The first one is asked.
        self._urls = [one.rstrip("/") for one in ([url] if isinstance(url, str) else url)]
        if not self._urls:
            raise ValueError("there is no address")
        self._token: Optional[str] = None

    async def __aenter__(self) -> AsyncSheaf:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    def collection(self, name: str, tenant: Optional[str] = None) -> AsyncCollection:
        """A collection, which need not exist: the first document that is added creates it."""
        return AsyncCollection(self, self.tenant if tenant is None else tenant, name)

    async def collections(self) -> List[Json]:
        """The collections of the tenant."""
        answer = await self.request("GET", path_of("v1", "collections", self.tenant))
        collections: List[Json] = answer["collections"]
        return collections

    async def health(self) -> Json:
        """The state of the server."""
        return await self.request("GET", "/health")

    async def embed(self, texts: Sequence[str], *, model: str = "builtin") -> List[List[float]]:
        """The vectors of texts by an embedder of the server, which its key names."""
        answer = await self.request("POST", "/v1/embeddings", body={"input": list(texts), "model": model})
        return [item["embedding"] for item in answer["data"]]

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: Optional[Mapping[str, Any]] = None,
        params: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
        **sent: Any,
    ) -> Json:
        """Sends any request of the HTTP API and returns its answer."""
        own = {"idempotency-key": str(uuid.uuid4())} if method == "POST" and path.endswith(WRITES) else {}
        others, attempt = len(self._urls) - 1, 0
        while True:
            url = self._urls[0]
            all_headers = {**own, **self._seen(), **(headers or {})}
            try:
                response = await self._http.request(
                    method, url + path, json=body, params=params, headers=all_headers, **sent
                )
                answer = read(response)
                self._note(response)
                return answer
            except (SheafUnavailable, httpx.TransportError) as error:
                # A limit of requests holds on all nodes.
                is_of_node = not (isinstance(error, SheafUnavailable) and error.status == 429)
                if is_of_node:
                    self._leave(url)
                is_sent_once = "files" in sent
                if is_of_node and others and not is_sent_once:
                    others -= 1
                    continue
                if is_sent_once or attempt == RETRIES:
                    if isinstance(error, SheafUnavailable) and error.code == "node_behind":
                        # No node shows what the token tells of where the cluster has been set up anew.
                        self._token = None
                    raise raised(error) from error
                await asyncio.sleep(pause_after(error, attempt))
                others, attempt = len(self._urls) - 1, attempt + 1

    def _leave(self, url: str) -> None:
        """Asks the next node from now on, unless another request has seen before that this one does not answer."""
        if url == self._urls[0]:
            self._urls.append(self._urls.pop(0))

    def _note(self, response: httpx.Response) -> None:
        token = response.headers.get("x-consistency")
        if len(self._urls) > 1 and token and not (self._token is not None and is_before(token, self._token)):
            self._token = token

    def _seen(self) -> Dict[str, str]:
        """By this header a node shows what the nodes before it have shown."""
        return {} if self._token is None else {"x-consistency": self._token}

    async def stream(self, method: str, path: str, **sent: Any) -> AsyncIterator[str]:
        """Sends a request and yields the lines of its answer as they come."""
        url = self._urls[0]
        try:
            headers = {**self._seen(), **sent.pop("headers", {})}
            async with self._http.stream(method, url + path, headers=headers, **sent) as response:
                if response.status_code >= 400:
                    await response.aread()
                    read(response)
                async for line in response.aiter_lines():
                    yield line
        except httpx.TransportError as error:
            self._leave(url)
            raise raised(error) from error


def is_before(token: str, other: str) -> bool:
    """Whether a token tells of less of the same command log than another one."""
    (stream, _, last), (other_stream, _, other_last) = token.partition(":"), other.partition(":")
    return stream == other_stream and int(last) < int(other_last)


WRITES = ("/documents", "/documents:batch", "/documents:patch", "/documents:delete")


def read(response: httpx.Response) -> Json:
    """The JSON of an answer. Raises SheafError for one that is none, or tells of an error."""
    try:
        answer = response.json()
    except ValueError:
        answer = {"error": response.text[:200]}
    if response.status_code >= 400 or not isinstance(answer, dict):
        retry_after = response.headers.get("retry-after")
        raise error_of(
            response.status_code,
            answer if isinstance(answer, dict) else {},
            float(retry_after) if retry_after else None,
        )
    return answer


def raised(error: Exception) -> Exception:
    """What the caller gets for an error of the connection."""
    if isinstance(error, httpx.TransportError):
        return SheafUnreachable(f"the server does not answer ({type(error).__name__}: {error})")
    return error


def pause_after(error: Exception, attempt: int) -> float:
    """Seconds to wait before a request is repeated."""
    asked = error.retry_after if isinstance(error, SheafUnavailable) else None
    return min(asked, 10.0) if asked is not None else 0.1 * 2**attempt * (0.5 + random.random())


class AsyncCollection:
    """A collection of a tenant."""

    def __init__(self, sheaf: AsyncSheaf, tenant: str, name: str) -> None:
        self.sheaf = sheaf
        self.tenant = tenant
        self.name = name

    def _path(self, *parts: str) -> str:
        return path_of("v1", "collections", self.tenant, self.name, *parts)

    async def create(self, **settings: Any) -> Json:
        """Creates the collection, or does nothing if it exists with these settings."""
        return await self.sheaf.request("POST", self._path(), body=settings)

    async def detail(self) -> CollectionDetail:
        """The settings and the size of the collection."""
        return await self.sheaf.request("GET", self._path("detail"))  # type: ignore[return-value]

    async def drop(self) -> Json:
        """Deletes the collection with its documents."""
        return await self.sheaf.request("DELETE", self._path())

    async def add(
        self,
        text: Optional[str] = None,
        *,
        vector: Optional[Sequence[float]] = None,
        docid: Optional[str] = None,
        metadata: Optional[Mapping[str, Any]] = None,
        **more: Any,
    ) -> Ingested:
        """Stores a document, in place of one with the same id: a text that is cut into chunks and embedded, or a vector.

        ``more``: what else the request takes, such as ``if_version`` or ``ttl``.
        """
        body = given(text=text, vector=listed(vector), docid=docid, metadata=metadata, **more)
        return await self.sheaf.request("POST", self._path("documents"), body=body)  # type: ignore[return-value]

    async def add_many(self, documents: Iterable[Mapping[str, Any]]) -> BatchAnswer:
        """Stores documents, each with the fields that ``add`` takes. One that is refused does not keep others out."""
        merged: BatchAnswer = {"documents": [], "count": 0, "succeeded": 0, "failed": 0}
        for batch in batches(documents, BATCH):
            body = {"documents": [dict(document) for document in batch]}
            answer = await self.sheaf.request("POST", self._path("documents:batch"), body=body)
            before = merged["count"]
            merged["documents"] += [{**item, "index": before + item["index"]} for item in answer["documents"]]
            for field in ("count", "succeeded", "failed"):
                merged[field] += answer[field]  # type: ignore[literal-required]
        return merged

    async def add_file(
        self, file: Union[str, Path], *, docid: Optional[str] = None, metadata: Optional[Mapping[str, Any]] = None
    ) -> Ingested:
        """Stores a file: text, Markdown, HTML, CSV, JSON, PDF, an office document, EPUB or e-mail."""
        path = Path(file)
        fields = given(docid=docid, metadata=None if metadata is None else json.dumps(metadata))
        files = {"file": (path.name, path.read_bytes())}
        return await self.sheaf.request(  # type: ignore[return-value]
            "POST", self._path("documents"), data=fields, files=files
        )

    async def import_lines(self, documents: AsyncIterable[Mapping[str, Any]]) -> AsyncIterator[BatchItem]:
        """Stores documents as they come, in one request without end, and yields the result of each."""

        async def lines() -> AsyncIterator[bytes]:
            async for document in documents:
                yield json.dumps(document).encode() + b"\n"

        headers = {"content-type": "application/x-ndjson"}
        async for line in self.sheaf.stream(
            "POST", self._path("documents:batch"), content=lines(), headers=headers, timeout=None
        ):
            item = json.loads(line) if line else {}
            if "index" in item:
                yield item

    async def get(self, docid: str) -> StoredDocument:
        """A stored document. Raises SheafNotFound."""
        return await self.sheaf.request("GET", self._path("documents", docid))  # type: ignore[return-value]

    async def documents(self, **options: Any) -> AsyncIterator[StoredDocument]:
        """All documents in the order of their ids."""
        cursor: Optional[str] = None
        while True:
            params = given(limit=200, cursor=cursor, **options)
            page = await self.sheaf.request("GET", self._path("documents"), params=params)
            for document in page["documents"]:
                yield document
            cursor = page.get("next_cursor")
            if not cursor:
                return

    async def update(self, docid: str, metadata: Mapping[str, Any], **more: Any) -> Json:
        """Changes fields of the metadata of a document without embedding it again; None removes a field."""
        body = {"metadata": dict(metadata), **more}
        return await self.sheaf.request("PATCH", self._path("documents", docid), body=body)

    async def delete(self, docid: str) -> Json:
        """Deletes a document. Raises SheafNotFound."""
        return await self.sheaf.request("DELETE", self._path("documents", docid))

    async def delete_where(
        self, filters: Optional[Filters] = None, *, docids: Optional[Sequence[str]] = None, **more: Any
    ) -> Json:
        """Deletes the documents that match a filter, or those of a list."""
        body = given(filters=filters, docids=None if docids is None else list(docids), **more)
        return await self.sheaf.request("POST", self._path("documents:delete"), body=body)

    async def search(
        self,
        query: Optional[str] = None,
        *,
        vector: Optional[Sequence[float]] = None,
        k: int = 10,
        filters: Optional[Filters] = None,
        mode: Optional[str] = None,
        **more: Any,
    ) -> SearchAnswer:
        """The ``k`` best chunks for a text or a vector.

        ``mode`` is vector, boost or hybrid. ``more``: what else a search takes, such as ``rerank``, ``group_by``,
        ``diversity``, ``sort``, ``like``, ``explain`` (docs/guide of the server).
        """
        body = search_body(query, vector, k=k, filters=filters, mode=mode, **more)
        return await self.sheaf.request("POST", self._path("search"), body=body)  # type: ignore[return-value]

    async def search_many(self, searches: Iterable[Mapping[str, Any]], **defaults: Any) -> List[SearchAnswer]:
        """The answers of searches, each with the fields of the HTTP API, such as ``q``, ``v`` and ``k``.

        A search that is refused raises its error.
        """
        answers: List[SearchAnswer] = []
        for batch in batches(searches, SEARCHES):
            body = {"searches": [{**defaults, **search} for search in batch]}
            answer = await self.sheaf.request("POST", self._path("search:batch"), body=body)
            for item in answer["results"]:
                if not item.get("ok", True):
                    raise error_of(item.get("status", 400), item, None)
                answers.append(item)
        return answers

    async def hits(
        self, filters: Optional[Filters] = None, *, sort: str = "docid", order: str = "asc", **more: Any
    ) -> AsyncIterator[SearchHit]:
        """All chunks that match a filter, in the order of a metadata field."""
        cursor = "*"
        while cursor:
            body = given(filters=filters, sort={"field": sort, "order": order}, k=200, cursor=cursor, **more)
            page = await self.sheaf.request("POST", self._path("search"), body=body)
            for hit in page["matches"]:
                yield hit
            cursor = page.get("next_cursor", "")

    async def count(self, filters: Optional[Filters] = None, **more: Any) -> CountAnswer:
        """The number of chunks that match, and of each value of the fields in ``facets``."""
        body = given(filters=filters, **more)
        return await self.sheaf.request("POST", self._path("count"), body=body)  # type: ignore[return-value]

    async def export(self, **options: Any) -> AsyncIterator[Json]:
        """All documents with their texts, as ``import_lines`` and ``add_many`` take them."""
        async for line in self.sheaf.stream("GET", self._path("documents:export"), params=options, timeout=None):
            if line:
                yield json.loads(line)

    async def events(self, *, last_event_id: Optional[str] = None) -> AsyncIterator[Event]:
        """Changes of the collection as they happen, without end."""
        headers = given(**{"last-event-id": last_event_id})
        fields: Dict[str, str] = {}
        async for line in self.sheaf.stream("GET", self._path("events"), headers=headers, timeout=None):
            if line == "" and "data" in fields:
                yield {
                    "id": fields.get("id"),
                    "type": fields.get("event", "message"),
                    "data": json.loads(fields["data"]),
                }
            if line == "":
                fields = {}
            name, _, value = line.partition(":")
            if name:
                fields[name] = value[1:] if value.startswith(" ") else value

    async def judge(self, set_name: str, queries: Sequence[Mapping[str, Any]]) -> Json:
        """Stores judged queries, each with ``id``, ``text`` and ``judgements``: grades by document id."""
        body = {"queries": [dict(query) for query in queries]}
        return await self.sheaf.request("PUT", self._path("judgements", set_name), body=body)

    async def evaluate(self, judged: Union[str, Sequence[Mapping[str, Any]]], *, k: int = 10, **search: Any) -> Evaluation:
        """How good searches are by judged queries: a list, or the name of a set that ``judge`` has stored."""
        if isinstance(judged, str):
            judged = (await self.sheaf.request("GET", self._path("judgements", judged)))["queries"]
        # Several chunks of a document may be among the best.
        answers = await self.search_many(({"q": query["text"]} for query in judged), k=min(3 * k, 1000), **search)
        scores = [
            scores_of(documents_of(answer["matches"]), query["judgements"], k)
            for query, answer in zip(judged, answers)
        ]
        return evaluation_of(scores, k)


def given(**fields: Any) -> Dict[str, Any]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def listed(vector: Optional[Sequence[float]]) -> Optional[List[float]]:
    """A vector as JSON takes it."""
    return None if vector is None else [float(value) for value in vector]


def search_body(query: Optional[str], vector: Optional[Sequence[float]], **more: Any) -> Dict[str, Any]:
    """The body of a search."""
    return given(q=query, v=listed(vector), **more)


def batches(items: Iterable[Mapping[str, Any]], size: int) -> Iterable[List[Mapping[str, Any]]]:
    """The items in lists of at most ``size``."""
    batch: List[Mapping[str, Any]] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
