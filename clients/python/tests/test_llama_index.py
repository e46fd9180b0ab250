"""The vector store of LlamaIndex, with the real framework."""

import asyncio

import pytest

llama = pytest.importorskip("llama_index.core")

from llama_index.core import Document, StorageContext, VectorStoreIndex  # noqa: E402
from llama_index.core.schema import TextNode  # noqa: E402
from llama_index.core.vector_stores.types import (  # noqa: E402
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from sheaf_client.llama_index import SheafEmbedding, SheafVectorStore, filters_of  # noqa: E402


def nodes():
    return [TextNode(id_=f"n{i}", text=f"The whale number {i}.", metadata={"n": i, "lists": {"a": [i]}}) for i in range(5)]


def query(text, **more):
    return VectorStoreQuery(query_str=text, similarity_top_k=2, **more)


def test_nodes_are_added_found_and_deleted(collection):
    store = SheafVectorStore(collection)
    assert store.add(nodes()) == [f"n{i}" for i in range(5)]
    found = store.query(query("whale number 3"))
    assert found.ids[0] == "n3" and found.nodes[0].get_content() == "The whale number 3."
    assert found.nodes[0].metadata == {"n": 3, "lists": {"a": [3]}}
    assert found.similarities[0] >= found.similarities[1]
    assert [node.node_id for node in store.get_nodes(["n1", "n4"])] == ["n1", "n4"]
    store.delete_nodes(["n3"])
    assert store.query(query("whale number 3")).ids[0] != "n3"
    hybrid = store.query(query("number 2", mode=VectorStoreQueryMode.HYBRID))
    assert hybrid.ids[0] == "n2"
    assert len(store.query(query("whale", mode=VectorStoreQueryMode.MMR)).ids) == 2
    with pytest.raises(ValueError, match="no search for the mode"):
        store.query(query("whale", mode=VectorStoreQueryMode.SVM))
    store.clear()
    assert store.query(query("whale")).ids == []


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        (FilterOperator.EQ, 2, ["n2"]),
        (FilterOperator.NE, 2, ["n0", "n1", "n3", "n4"]),
        (FilterOperator.GT, 2, ["n3", "n4"]),
        (FilterOperator.LTE, 1, ["n0", "n1"]),
        (FilterOperator.IN, [0, 4], ["n0", "n4"]),
        (FilterOperator.NIN, [0, 4], ["n1", "n2", "n3"]),
        (FilterOperator.IS_EMPTY, None, []),
    ],
)
def test_filters(collection, operator, value, expected):
    store = SheafVectorStore(collection)
    store.add(nodes())
    filters = MetadataFilters(filters=[MetadataFilter(key="n", value=value, operator=operator)])
    assert sorted(node.node_id for node in store.get_nodes(filters=filters)) == expected
    turned = MetadataFilters(filters=[filters], condition=FilterCondition.NOT)
    assert sorted(node.node_id for node in store.get_nodes(filters=turned)) == sorted(
        {f"n{i}" for i in range(5)} - set(expected)
    )


def test_filters_that_there_are_not():
    unknown = MetadataFilters(filters=[MetadataFilter(key="n", value="x", operator=FilterOperator.TEXT_MATCH)])
    with pytest.raises(ValueError, match="no filter for the operator"):
        filters_of(unknown)


def test_an_index_is_built_queried_and_a_document_leaves_it(sheaf, collection):
    context = StorageContext.from_defaults(vector_store=SheafVectorStore(collection))
    documents = [Document(doc_id=f"doc{i}", text=f"The whale number {i}.") for i in range(4)]
    index = VectorStoreIndex.from_documents(documents, storage_context=context, embed_model=SheafEmbedding(sheaf))
    found = index.as_retriever(similarity_top_k=1).retrieve("whale number 2")
    assert found[0].node.ref_doc_id == "doc2" and 0 < found[0].score <= 1
    index.delete_ref_doc("doc2")
    assert index.as_retriever(similarity_top_k=1).retrieve("whale number 2")[0].node.ref_doc_id != "doc2"


def test_async_methods_do_the_same(collection, in_async):
    async def run():
        own = in_async()
        async with own.sheaf:
            store = SheafVectorStore(collection, own)
            await store.async_add(nodes())
            assert (await store.aquery(query("whale number 1"))).ids[0] == "n1"
            await store.adelete("none")
        assert (await SheafVectorStore(collection).aquery(query("whale number 1"))).ids[0] == "n1"

    asyncio.run(run())
