"""A vector store and an embedding for LlamaIndex: ``pip install 'sheaf-client[llama-index]'``.

The server embeds and indexes the texts of the nodes, so queries go to it as texts.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode, MetadataMode, TextNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from ._async_client import AsyncCollection
from ._client import Collection, Sheaf
from .types import Filters, SearchAnswer

OPERATORS = {
    FilterOperator.EQ: "$eq",
    FilterOperator.NE: "$ne",
    FilterOperator.GT: "$gt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LT: "$lt",
    FilterOperator.LTE: "$lte",
    FilterOperator.IN: "$in",
    FilterOperator.NIN: "$nin",
    FilterOperator.ANY: "$in",
    FilterOperator.CONTAINS: "$eq",
}
MODES = {
    VectorStoreQueryMode.DEFAULT: "vector",
    VectorStoreQueryMode.MMR: "vector",
    VectorStoreQueryMode.HYBRID: "hybrid",
}


class SheafEmbedding(BaseEmbedding):
    """The vectors of an embedder of the server."""

    _sheaf: Sheaf = PrivateAttr()

    def __init__(self, sheaf: Sheaf, model_name: str = "builtin", **fields: Any) -> None:
        super().__init__(model_name=model_name, **fields)
        self._sheaf = sheaf

    def _get_text_embeddings(self, texts: List[str]) -> List[List[float]]:
        return self._sheaf.embed(texts, model=self.model_name)

    def _get_text_embedding(self, text: str) -> List[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> List[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> List[float]:
        return self._get_text_embedding(query)


class SheafVectorStore(BasePydanticVectorStore):
    """A collection as a vector store.

    A node is a document with the id of the node; nodes longer than the chunks of the collection are cut. The field
    ``ref_doc_id`` of the metadata names the document that a node comes from.
    """

    stores_text: bool = True
    is_embedding_query: bool = False
    flat_metadata: bool = True

    _collection: Collection = PrivateAttr()
    _async_collection: Optional[AsyncCollection] = PrivateAttr()

    def __init__(self, collection: Collection, async_collection: Optional[AsyncCollection] = None) -> None:
        super().__init__()
        self._collection = collection
        self._async_collection = async_collection

    @classmethod
    def class_name(cls) -> str:
        return "SheafVectorStore"

    @property
    def client(self) -> Collection:
        return self._collection

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> List[str]:
        documents = [_document(node) for node in nodes]
        _check(self._collection.add_many(documents))
        return [node.node_id for node in nodes]

    async def async_add(self, nodes: Sequence[BaseNode], **more: Any) -> List[str]:
        if self._async_collection is None:
            return self.add(nodes, **more)
        _check(await self._async_collection.add_many([_document(node) for node in nodes]))
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        self._collection.delete_where({"ref_doc_id": ref_doc_id})

    async def adelete(self, ref_doc_id: str, **more: Any) -> None:
        if self._async_collection is None:
            return self.delete(ref_doc_id, **more)
        await self._async_collection.delete_where({"ref_doc_id": ref_doc_id})

    def delete_nodes(
        self, node_ids: Optional[List[str]] = None, filters: Optional[MetadataFilters] = None, **_: Any
    ) -> None:
        self._collection.delete_where(filters_of(filters), docids=node_ids)

    def clear(self) -> None:
        self._collection.delete_where({"docid": {"$exists": True}})

    def get_nodes(
        self, node_ids: Optional[List[str]] = None, filters: Optional[MetadataFilters] = None
    ) -> List[BaseNode]:
        wanted: List[Filters] = [filters_of(filters) or {}]
        if node_ids is not None:
            wanted.append({"docid": {"$in": node_ids}})
        return [_node(hit) for hit in self._collection.hits({"$and": wanted})]

    def query(self, query: VectorStoreQuery, **more: Any) -> VectorStoreQueryResult:
        return _result(self._collection.search(**_search(query), **more))

    async def aquery(self, query: VectorStoreQuery, **more: Any) -> VectorStoreQueryResult:
        if self._async_collection is None:
            return self.query(query, **more)
        return _result(await self._async_collection.search(**_search(query), **more))


def filters_of(filters: Optional[MetadataFilters]) -> Optional[Filters]:
    """Filters of LlamaIndex as the server takes them. Raises ValueError for operators that it does not have."""
    if filters is None or not filters.filters:
        return None
    conditions = [_condition(each) for each in filters.filters]
    if filters.condition == FilterCondition.OR:
        return {"$or": conditions}
    return {"$not": {"$or": conditions}} if filters.condition == FilterCondition.NOT else {"$and": conditions}


def _condition(each: Any) -> Filters:
    if isinstance(each, MetadataFilters):
        return filters_of(each) or {}
    filter_: MetadataFilter = each
    if filter_.operator == FilterOperator.IS_EMPTY:
        return {"$or": [{filter_.key: {"$exists": False}}, {filter_.key: None}]}
    if filter_.operator == FilterOperator.ALL:
        values = filter_.value if isinstance(filter_.value, list) else [filter_.value]
        return {"$and": [{filter_.key: {"$eq": value}} for value in values]}
    if filter_.operator not in OPERATORS:
        raise ValueError(f"Sheaf has no filter for the operator {filter_.operator}")
    return {filter_.key: {OPERATORS[filter_.operator]: filter_.value}}


def _document(node: BaseNode) -> Dict[str, Any]:
    metadata = node_to_metadata_dict(node, remove_text=True, flat_metadata=False)
    return {"docid": node.node_id, "text": node.get_content(MetadataMode.NONE), "metadata": metadata}


def _check(answer: Any) -> None:
    for item in answer["documents"]:
        if not item["ok"]:
            raise ValueError(f"document {item['index']}: {item.get('error') or item.get('code')}")


def _search(query: VectorStoreQuery) -> Dict[str, Any]:
    if query.mode not in MODES:
        raise ValueError(f"Sheaf has no search for the mode {query.mode}")
    wanted: List[Filters] = [filters_of(query.filters) or {}]
    # LlamaIndex passes empty lists for all.
    if query.node_ids:
        wanted.append({"docid": {"$in": query.node_ids}})
    if query.doc_ids:
        wanted.append({"ref_doc_id": {"$in": query.doc_ids}})
    search: Dict[str, Any] = {"k": query.similarity_top_k, "filters": {"$and": wanted}, "mode": MODES[query.mode]}
    if query.query_str is not None:
        search["query"] = query.query_str
    else:
        search["vector"] = query.query_embedding
    if query.mode == VectorStoreQueryMode.MMR:
        threshold = 0.5 if query.mmr_threshold is None else query.mmr_threshold
        search["diversity"] = {"lambda": threshold, "candidates": max(20, 4 * query.similarity_top_k)}
    return search


def _node(hit: Any) -> BaseNode:
    text = hit.get("text") or ""
    try:
        node = metadata_dict_to_node(hit["meta"], text=text)
    except ValueError:
        # A document that LlamaIndex has not written.
        node = TextNode(text=text, id_=hit["meta"]["docid"], metadata=hit["meta"])
    return node


def _result(answer: SearchAnswer) -> VectorStoreQueryResult:
    nodes = [_node(hit) for hit in answer["matches"]]
    return VectorStoreQueryResult(
        nodes=nodes,
        similarities=[hit["score"] for hit in answer["matches"]],
        ids=[node.node_id for node in nodes],
    )
