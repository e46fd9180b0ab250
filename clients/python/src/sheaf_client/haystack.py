"""A document store and a retriever for Haystack: ``pip install 'sheaf-client[haystack]'``.

The server embeds and indexes the contents of documents, so a pipeline needs no embedder for them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Optional

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.utils import Secret, deserialize_secrets_inplace

from ._client import Sheaf
from .errors import SheafConflict, SheafNotFound
from .types import Filters, SearchHit

COMPARISONS = {
    "==": "$eq",
    "!=": "$ne",
    ">": "$gt",
    ">=": "$gte",
    "<": "$lt",
    "<=": "$lte",
    "in": "$in",
    "not in": "$nin",
}


class SheafDocumentStore:
    """A collection as a document store. ``key`` is a Secret of Haystack."""

    def __init__(
        self,
        collection: str,
        *,
        url: str = "http://127.0.0.1:8080",
        key: Optional[Secret] = None,
        tenant: str = "default",
    ) -> None:
        self.name = collection
        self.url = url
        self.key = key
        self.tenant = tenant
        sheaf = Sheaf(url, key=key.resolve_value() if key else None, tenant=tenant)
        self.collection = sheaf.collection(collection)

    def to_dict(self) -> Dict[str, Any]:
        key = self.key.to_dict() if self.key else None
        return default_to_dict(self, collection=self.name, url=self.url, key=key, tenant=self.tenant)

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> SheafDocumentStore:
        deserialize_secrets_inplace(data["init_parameters"], keys=["key"])
        return default_from_dict(cls, data)

    def count_documents(self) -> int:
        try:
            return self.collection.detail()["doc_count"]
        except SheafNotFound:
            return 0

    def filter_documents(self, filters: Optional[Dict[str, Any]] = None) -> List[Document]:
        try:
            return [document_of(hit) for hit in self.collection.hits(filters_of(filters))]
        except SheafNotFound:
            return []

    def write_documents(self, documents: List[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        if any(not isinstance(document, Document) for document in documents):
            raise ValueError("write_documents takes documents of Haystack")
        if policy in (DuplicatePolicy.NONE, DuplicatePolicy.OVERWRITE):
            answer = self.collection.add_many([_stored(document) for document in documents])
            for item in answer["documents"]:
                if not item["ok"]:
                    raise ValueError(f"document {item['index']}: {item.get('error') or item.get('code')}")
            return answer["succeeded"]
        written = 0
        for document in documents:
            stored = _stored(document)
            try:
                self.collection.add(**stored, if_version=0)
                written += 1
            except SheafConflict as error:
                if policy == DuplicatePolicy.FAIL:
                    raise DuplicateDocumentError(f"there is a document {document.id}") from error
        return written

    def delete_documents(self, document_ids: List[str]) -> None:
        if document_ids:
            self.collection.delete_where(docids=document_ids)


@component
class SheafRetriever:
    """Finds the documents for a text. ``search``: what every search takes besides, such as ``mode`` or ``rerank``."""

    def __init__(
        self,
        document_store: SheafDocumentStore,
        *,
        top_k: int = 10,
        filters: Optional[Dict[str, Any]] = None,
        search: Optional[Dict[str, Any]] = None,
    ) -> None:
        self.document_store = document_store
        self.top_k = top_k
        self.filters = filters
        self.search = search or {}

    def to_dict(self) -> Dict[str, Any]:
        return default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            top_k=self.top_k,
            filters=self.filters,
            search=self.search,
        )

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> SheafRetriever:
        parameters = data["init_parameters"]
        parameters["document_store"] = SheafDocumentStore.from_dict(parameters["document_store"])
        return default_from_dict(cls, data)

    @component.output_types(documents=List[Document])
    def run(
        self, query: str, top_k: Optional[int] = None, filters: Optional[Dict[str, Any]] = None
    ) -> Dict[str, List[Document]]:
        answer = self.document_store.collection.search(
            query,
            k=self.top_k if top_k is None else top_k,
            filters=filters_of(self.filters if filters is None else filters),
            **self.search,
        )
        return {"documents": [document_of(hit) for hit in answer["matches"]]}


def filters_of(filters: Optional[Dict[str, Any]]) -> Optional[Filters]:
    """Filters of Haystack as the server takes them. Raises FilterError."""
    if not filters:
        return None
    if "conditions" in filters:
        operator = filters.get("operator")
        conditions = [filters_of(each) or {} for each in filters["conditions"]]
        if operator in ("AND", "OR"):
            return {f"${operator.lower()}": conditions}
        if operator == "NOT":
            return {"$not": {"$and": conditions}}
        raise FilterError(f"there is no operator {operator}")
    if not {"field", "operator", "value"} <= filters.keys():
        raise FilterError("a condition has the keys field, operator and value")
    field, operator, value = filters["field"], filters["operator"], filters["value"]
    if operator not in COMPARISONS:
        raise FilterError(f"there is no operator {operator}")
    if operator in ("in", "not in") and not isinstance(value, list):
        raise FilterError(f"the value of {operator} is a list")
    name = field[len("meta.") :] if field.startswith("meta.") else {"id": "docid"}.get(field, field)
    return {name: {COMPARISONS[operator]: value}}


def _stored(document: Document) -> Dict[str, Any]:
    if document.content is None:
        raise ValueError(f"document {document.id} has no content")
    return {"docid": document.id, "text": document.content, "metadata": document.meta}


def document_of(hit: SearchHit) -> Document:
    """A hit as a document of Haystack, with the chunk as its content."""
    meta = {name: value for name, value in hit["meta"].items() if name not in ("docid", "ingested_at", "offset")}
    document = Document(id=hit["meta"]["docid"], content=hit.get("text") or "", meta=meta)
    return replace(document, score=hit.get("score"))
