"""What the server answers. Fields that are absent were not asked for, or do not apply."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, TypedDict, Union

Json = Dict[str, Any]
#: A metadata filter: values, lists of values and operators by field (docs/guide/filters.md of the server).
Filters = Dict[str, Any]
Scalar = Union[str, int, float, bool, None]


class SearchHit(TypedDict, total=False):
    """A chunk that was found. ``id`` is its document id, ``::`` and its path in the document."""

    id: str
    score: float
    text: Optional[str]
    tenant: str
    collection: str
    meta: Json
    group: Scalar


class SearchAnswer(TypedDict, total=False):
    matches: List[SearchHit]
    mode: str
    degraded: bool
    next_cursor: str
    query_id: str
    timing: Dict[str, float]


class Ingested(TypedDict, total=False):
    docid: str
    chunks: int
    version: int


class BatchItem(TypedDict, total=False):
    index: int
    ok: bool
    docid: str
    chunks: int
    version: int
    error: str
    code: str


class BatchAnswer(TypedDict, total=False):
    documents: List[BatchItem]
    count: int
    succeeded: int
    failed: int


class StoredDocument(TypedDict, total=False):
    docid: str
    version: int
    ingested_at: str
    metadata: Json
    chunk_count: int


class CollectionDetail(TypedDict, total=False):
    name: str
    tenant: str
    embedder_type: str
    embed_model: str
    chunk_count: int
    doc_count: int


class CountAnswer(TypedDict, total=False):
    count: int
    facets: Json


class Event(TypedDict):
    """A change of a collection: ``type`` is job, ingest, delete, collection or reset."""

    id: Optional[str]
    type: str
    data: Json


class Evaluation(TypedDict):
    """Means over the judged queries, from 0 to 1, of the ``k`` best documents."""

    queries: int
    k: int
    ndcg: float
    recall: float
    reciprocal_rank: float
