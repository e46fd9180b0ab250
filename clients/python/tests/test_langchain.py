"""The vector store of LangChain, with the real framework."""

import asyncio

import pytest

langchain = pytest.importorskip("langchain_core")

from langchain_core.documents import Document  # noqa: E402

from sheaf_client.langchain import SheafEmbeddings, SheafVectorStore  # noqa: E402

WHALES = [Document(id=f"w{i}", page_content=f"The whale number {i}.", metadata={"n": i}) for i in range(6)]


def test_documents_are_added_found_and_deleted(collection):
    store = SheafVectorStore(collection)
    assert store.add_documents(WHALES) == [each.id for each in WHALES]
    found = store.similarity_search("whale number 4", k=2)
    assert (found[0].id, found[0].page_content, found[0].metadata["n"]) == ("w4", "The whale number 4.", 4)
    assert sorted(each.id for each in store.similarity_search("whale", k=6, filter={"n": {"$lt": 2}})) == ["w0", "w1"]
    [(_, first), (_, second)] = store.similarity_search_with_score("whale number 4", k=2)
    assert 1 >= first >= second
    assert [each.id for each in store.get_by_ids(["w5", "none", "w1"])] == ["w5", "w1"]
    # What was found can be added again.
    store.add_documents(store.get_by_ids(["w5"]))
    assert len(store.get_by_ids(["w5"])) == 1
    store.delete(["w5"])
    store.delete(filter={"n": 1})
    assert sorted(each.id for each in store.similarity_search("whale", k=10)) == ["w0", "w2", "w3", "w4"]


def test_hits_may_be_unlike_each_other(collection):
    store = SheafVectorStore.from_texts(
        ["A whale.", "A whale!", "A whale?", "A ship sails."], collection=collection, ids=["a", "b", "c", "ship"]
    )
    best = [each.id for each in store.similarity_search("whale", k=2)]
    unlike = [each.id for each in store.max_marginal_relevance_search("whale", k=2, fetch_k=4, lambda_mult=0.1)]
    assert "ship" not in best and "ship" in unlike


def test_it_is_a_retriever_with_settings(collection):
    store = SheafVectorStore(collection, mode="hybrid")
    store.add_documents(WHALES)
    retriever = store.as_retriever(search_kwargs={"k": 1, "filter": {"n": {"$gt": 2}}})
    assert [each.id for each in retriever.invoke("number 5")] == ["w5"]
    relevance = store.similarity_search_with_relevance_scores("number 5", k=1)
    assert 0 <= relevance[0][1] <= 1


def test_vectors_are_those_of_the_server(sheaf, collection):
    store = SheafVectorStore(collection)
    store.add_documents(WHALES)
    vector = SheafEmbeddings(sheaf).embed_query("The whale number 3.")
    assert store.similarity_search_by_vector(vector, k=1)[0].id == "w3"


def test_async_methods_do_the_same(collection, in_async):
    async def run(own):
        store = SheafVectorStore(collection, own)
        assert await store.aadd_documents(WHALES) == [each.id for each in WHALES]
        assert (await store.asimilarity_search("whale number 2", k=1))[0].id == "w2"
        assert len(await store.amax_marginal_relevance_search("whale", k=3)) == 3
        await store.adelete(["w2"])
        assert (await store.asimilarity_search("whale number 2", k=1))[0].id != "w2"

    async def both():
        own = in_async()
        async with own.sheaf:
            await run(own)
        await run(None)

    asyncio.run(both())


def test_a_document_that_is_refused_is_an_error(collection):
    with pytest.raises(ValueError, match="document bad"):
        SheafVectorStore(collection).add_texts([""], ids=["bad"])
