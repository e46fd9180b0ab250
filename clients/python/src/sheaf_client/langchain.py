"""A vector store and embeddings for LangChain: ``pip install 'sheaf-client[langchain]'``.

The server cuts, embeds and indexes the texts, so the store needs no embedding of its own.
"""

from __future__ import annotations

import uuid
from typing import Any, Callable, Iterable, List, Optional, Sequence, Tuple

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from ._async_client import AsyncCollection, AsyncSheaf
from ._client import Collection, Sheaf
from .errors import SheafNotFound
from .types import Filters, SearchHit

#: Fields of a hit that the server adds to the metadata of its document.
OWN_FIELDS = ("docid", "ingested_at")


class SheafEmbeddings(Embeddings):
    """The vectors of an embedder of the server."""

    def __init__(self, sheaf: Sheaf, model: str = "builtin") -> None:
        self.sheaf = sheaf
        self.model = model

    def embed_documents(self, texts: List[str]) -> List[List[float]]:
        return self.sheaf.embed(texts, model=self.model) if texts else []

    def embed_query(self, text: str) -> List[float]:
        return self.embed_documents([text])[0]


class SheafVectorStore(VectorStore):
    """A collection as a vector store.

    The id of a LangChain document is the document id, so adding one again replaces it. A text that is longer than the
    chunks of the collection is cut, and its chunks are found by themselves, all with the id of the document. ``search``
    holds what every search takes besides, such as ``mode="hybrid"`` or ``rerank``. Without ``async_collection`` the async
    methods run in threads.
    """

    def __init__(
        self, collection: Collection, async_collection: Optional[AsyncCollection] = None, **search: Any
    ) -> None:
        self.collection = collection
        self.async_collection = async_collection
        self.settings = search

    @classmethod
    def from_texts(  # type: ignore[override]
        cls,
        texts: List[str],
        embedding: Optional[Embeddings] = None,
        metadatas: Optional[List[dict]] = None,
        *,
        ids: Optional[List[str]] = None,
        collection: Optional[Collection] = None,
        collection_name: str = "langchain",
        url: str = "http://127.0.0.1:8080",
        key: Optional[str] = None,
        tenant: str = "default",
        **search: Any,
    ) -> SheafVectorStore:
        """Adds texts to a collection, which is created. ``embedding`` is not used: the server embeds."""
        if collection is None:
            collection = Sheaf(url, key=key, tenant=tenant).collection(collection_name)
        store = cls(collection, AsyncSheaf(url, key=key, tenant=tenant).collection(collection_name), **search)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @property
    def embeddings(self) -> Optional[Embeddings]:
        return SheafEmbeddings(self.collection.sheaf)

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Optional[List[dict]] = None,
        *,
        ids: Optional[Sequence[Optional[str]]] = None,
        **_: Any,
    ) -> List[str]:
        documents = _documents(texts, metadatas, ids)
        return _added(documents, self.collection.add_many(documents))

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: Optional[List[dict]] = None,
        *,
        ids: Optional[Sequence[Optional[str]]] = None,
        **_: Any,
    ) -> List[str]:
        documents = _documents(texts, metadatas, ids)
        if self.async_collection is None:
            return await super().aadd_texts(texts, metadatas, ids=[each["docid"] for each in documents])
        return _added(documents, await self.async_collection.add_many(documents))

    def delete(self, ids: Optional[List[str]] = None, *, filter: Optional[Filters] = None, **_: Any) -> Optional[bool]:
        """Deletes documents by their ids or by a filter."""
        self.collection.delete_where(filter, docids=ids)
        return True

    async def adelete(
        self, ids: Optional[List[str]] = None, *, filter: Optional[Filters] = None, **_: Any
    ) -> Optional[bool]:
        if self.async_collection is None:
            return await super().adelete(ids, filter=filter)
        await self.async_collection.delete_where(filter, docids=ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> List[Document]:
        found = []
        for docid in ids:
            try:
                hits = sorted(self.collection.hits({"docid": docid}), key=lambda hit: hit["meta"].get("offset", 0))
            except SheafNotFound:
                return []
            found += [_document(hit) for hit in hits]
        return found

    def similarity_search(
        self, query: str, k: int = 4, *, filter: Optional[Filters] = None, **search: Any
    ) -> List[Document]:
        return [document for document, _ in self.similarity_search_with_score(query, k, filter=filter, **search)]

    async def asimilarity_search(
        self, query: str, k: int = 4, *, filter: Optional[Filters] = None, **search: Any
    ) -> List[Document]:
        found = await self.asimilarity_search_with_score(query, k, filter=filter, **search)
        return [document for document, _ in found]

    def similarity_search_with_score(  # type: ignore[override]
        self, query: str, k: int = 4, *, filter: Optional[Filters] = None, **search: Any
    ) -> List[Tuple[Document, float]]:
        answer = self.collection.search(query, k=k, filters=filter, **{**self.settings, **search})
        return [(_document(hit), hit["score"]) for hit in answer["matches"]]

    async def asimilarity_search_with_score(  # type: ignore[override]
        self, query: str, k: int = 4, *, filter: Optional[Filters] = None, **search: Any
    ) -> List[Tuple[Document, float]]:
        if self.async_collection is None:
            return await super().asimilarity_search_with_score(query, k, filter=filter, **search)
        answer = await self.async_collection.search(query, k=k, filters=filter, **{**self.settings, **search})
        return [(_document(hit), hit["score"]) for hit in answer["matches"]]

    def similarity_search_by_vector(
        self, embedding: List[float], k: int = 4, *, filter: Optional[Filters] = None, **search: Any
    ) -> List[Document]:
        answer = self.collection.search(vector=embedding, k=k, filters=filter, **search)
        return [_document(hit) for hit in answer["matches"]]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Optional[Filters] = None,
        **search: Any,
    ) -> List[Document]:
        """The server picks the hits among the ``fetch_k`` best."""
        return self.similarity_search(query, k, filter=filter, diversity=_diversity(k, fetch_k, lambda_mult), **search)

    async def amax_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Optional[Filters] = None,
        **search: Any,
    ) -> List[Document]:
        diversity = _diversity(k, fetch_k, lambda_mult)
        return await self.asimilarity_search(query, k, filter=filter, diversity=diversity, **search)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        # Cosines are from -1 to 1.
        return lambda score: max(0.0, min(1.0, score))


def _diversity(k: int, fetch_k: int, lambda_mult: float) -> dict:
    return {"lambda": lambda_mult, "candidates": max(k, fetch_k)}


def _documents(
    texts: Iterable[str], metadatas: Optional[List[dict]], ids: Optional[Sequence[Optional[str]]]
) -> List[dict]:
    documents = []
    for i, text in enumerate(texts):
        docid = ids[i] if ids else None
        metadata = metadatas[i] if metadatas else {}
        own = {name: value for name, value in metadata.items() if name not in OWN_FIELDS}
        documents.append({"docid": docid or str(uuid.uuid4()), "text": text, "metadata": own})
    return documents


def _added(documents: List[dict], answer: Any) -> List[str]:
    for item in answer["documents"]:
        if not item["ok"]:
            raise ValueError(f"document {documents[item['index']]['docid']}: {item.get('error') or item.get('code')}")
    return [document["docid"] for document in documents]


def _document(hit: SearchHit) -> Document:
    metadata = dict(hit["meta"])
    return Document(id=metadata["docid"], page_content=hit.get("text") or "", metadata=metadata)
