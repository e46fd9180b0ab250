"""The document store and the retriever of Haystack, with the real framework."""

import pytest

pytest.importorskip("haystack")

from haystack import Document, Pipeline  # noqa: E402
from haystack.document_stores.errors import DuplicateDocumentError  # noqa: E402
from haystack.document_stores.types import DuplicatePolicy  # noqa: E402
from haystack.errors import FilterError  # noqa: E402

from conftest import URL  # noqa: E402
from sheaf_client.haystack import SheafDocumentStore, SheafRetriever  # noqa: E402


@pytest.fixture
def store(collection):
    return SheafDocumentStore(collection.name, url=URL)


WHALES = [Document(id=f"w{i}", content=f"The whale number {i}.", meta={"n": i}) for i in range(5)]


def test_documents_are_written_counted_and_deleted(store):
    assert store.count_documents() == 0 and store.filter_documents() == []
    assert store.write_documents(WHALES) == 5
    assert store.count_documents() == 5
    assert [(each.id, each.content, each.meta) for each in store.filter_documents()] == [
        (each.id, each.content, each.meta) for each in WHALES
    ]
    store.delete_documents(["w0", "none"])
    store.delete_documents([])
    assert store.count_documents() == 4
    with pytest.raises(ValueError):
        store.write_documents([Document(content=None)])
    with pytest.raises(ValueError):
        store.write_documents(["text"])


def test_policies(store):
    store.write_documents(WHALES)
    other = Document(id="w1", content="Another whale.")
    with pytest.raises(DuplicateDocumentError):
        store.write_documents([other], DuplicatePolicy.FAIL)
    assert store.write_documents([other, Document(id="w9", content="A whale.")], DuplicatePolicy.SKIP) == 1
    assert store.write_documents([other], DuplicatePolicy.OVERWRITE) == 1
    [now] = store.filter_documents({"field": "id", "operator": "==", "value": "w1"})
    assert now.content == "Another whale."


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [("==", 2, [2]), ("!=", 2, [0, 1, 3, 4]), (">", 2, [3, 4]), ("<=", 1, [0, 1]), ("in", [0, 4], [0, 4]), ("not in", [0, 4], [1, 2, 3])],
)
def test_filters(store, operator, value, expected):
    store.write_documents(WHALES)
    condition = {"field": "meta.n", "operator": operator, "value": value}
    assert [each.meta["n"] for each in store.filter_documents(condition)] == expected
    turned = store.filter_documents({"operator": "NOT", "conditions": [condition]})
    assert [each.meta["n"] for each in turned] == [n for n in range(5) if n not in expected]
    both = {"operator": "AND", "conditions": [condition, {"field": "meta.n", "operator": ">=", "value": 0}]}
    assert [each.meta["n"] for each in store.filter_documents(both)] == expected


@pytest.mark.parametrize(
    "filters",
    [
        {"operator": "XOR", "conditions": []},
        {"field": "meta.n", "operator": "~", "value": 1},
        {"field": "meta.n", "operator": "in", "value": 1},
        {"field": "meta.n"},
    ],
)
def test_filters_that_there_are_not(store, filters):
    with pytest.raises(FilterError):
        store.filter_documents(filters)


def test_a_pipeline_finds_documents_also_after_it_was_saved(store, monkeypatch):
    # Later releases of Haystack load classes of modules that are named here alone.
    monkeypatch.setenv("HAYSTACK_DESERIALIZATION_ALLOWLIST", "sheaf_client.haystack")
    store.write_documents(WHALES)
    pipeline = Pipeline()
    pipeline.add_component("retriever", SheafRetriever(store, top_k=2, search={"mode": "hybrid"}))
    for each in (pipeline, Pipeline.loads(pipeline.dumps())):
        found = each.run({"retriever": {"query": "number 4"}})["retriever"]["documents"]
        assert found[0].id == "w4" and found[0].score > 0 and len(found) == 2
        condition = {"field": "meta.n", "operator": "<", "value": 1}
        few = each.run({"retriever": {"query": "number 4", "filters": condition}})["retriever"]["documents"]
        assert [document.id for document in few] == ["w0"]
