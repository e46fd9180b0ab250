"""Every method of both clients against a real server."""

import asyncio
import inspect

import httpx
import pytest

from sheaf_client import (
    AsyncCollection,
    AsyncSheaf,
    Collection,
    Sheaf,
    SheafConflict,
    SheafError,
    SheafNotFound,
    SheafUnavailable,
    SheafUnreachable,
)
from sheaf_client._evaluation import scores_of


def filled(collection, count=5):
    answer = collection.add_many(
        {"docid": f"d{i}", "text": f"The whale number {i}.", "metadata": {"n": i}} for i in range(count)
    )
    assert (answer["succeeded"], answer["failed"]) == (count, 0)
    return collection


def test_a_document_is_added_found_changed_and_deleted(collection):
    assert collection.add("Captain Nemo commands the Nautilus.", docid="nemo", metadata={"year": 1870})["version"] == 1
    hit = collection.search("submarine captain", k=1)["matches"][0]
    assert (hit["id"], hit["meta"]["year"]) == ("nemo::chunk_0", 1870)
    assert collection.update("nemo", {"year": 1871})["version"] == 2
    assert collection.get("nemo")["metadata"]["year"] == 1871
    assert collection.search("captain", filters={"year": 1870})["matches"] == []
    with pytest.raises(SheafConflict) as conflict:
        collection.add("Another.", docid="nemo", if_version=1)
    assert (conflict.value.code, conflict.value.details) == ("version_conflict", {"version": 2})
    collection.delete("nemo")
    with pytest.raises(SheafNotFound) as gone:
        collection.get("nemo")
    assert gone.value.code == "document_not_found" and gone.value.request_id


def test_many_documents_come_back_as_pages_exports_and_counts(collection):
    filled(collection, 600)
    assert [item["docid"] for item in collection.documents()] == sorted(f"d{i}" for i in range(600))
    assert {line["docid"] for line in collection.export()} == {f"d{i}" for i in range(600)}
    assert collection.count({"n": {"$lt": 10}}, facets=["n"])["count"] == 10
    assert [hit["meta"]["n"] for hit in collection.hits({"n": {"$gte": 250}}, sort="n")] == list(range(250, 600))
    assert collection.delete_where({"n": {"$gte": 3}})["documents"] == 597
    assert collection.detail()["doc_count"] == 3


def test_results_have_the_place_of_their_document_over_all_batches(collection):
    documents = [{"docid": f"d{i}", "text": "A whale."} for i in range(600)]
    documents[300] = {"docid": "d300", "text": ""}
    answer = collection.add_many(documents)
    assert [item["index"] for item in answer["documents"]] == list(range(600))
    assert [item["index"] for item in answer["documents"] if not item["ok"]] == [300]


def test_lines_are_stored_as_they_come(collection):
    results = list(collection.import_lines({"docid": f"d{i}", "text": "A whale."} for i in range(40)))
    assert sorted(item["index"] for item in results) == list(range(40)) and all(item["ok"] for item in results)


def test_a_file_is_read(collection, tmp_path):
    file = tmp_path / "notes.md"
    file.write_text("# Whales\n\nThe white whale is called Moby Dick.")
    assert collection.add_file(file, docid="notes", metadata={"of": "me"})["chunks"] >= 1
    hit = collection.search("Moby Dick", mode="hybrid", k=1)["matches"][0]
    assert (hit["meta"]["docid"], hit["meta"]["of"]) == ("notes", "me")


def test_searches_in_a_batch_have_their_answers_in_order(collection):
    filled(collection)
    answers = collection.search_many(({"q": f"whale number {i}"} for i in range(130)), k=1)
    assert len(answers) == 130 and all(len(answer["matches"]) == 1 for answer in answers)
    with pytest.raises(SheafError) as refused:
        collection.search_many([{"q": "whale"}, {"q": "whale", "k": 0}])
    assert refused.value.code == "validation_error"


def test_vectors_are_stored_and_searched(sheaf, collection):
    collection.create(embedder_type="identity", embedder_config={"dim": 3})
    collection.add(vector=[1, 0, 0], docid="x")
    collection.add(vector=[0, 1, 0], docid="y")
    assert [hit["meta"]["docid"] for hit in collection.search(vector=[0.9, 0.1, 0], k=2)["matches"]] == ["x", "y"]
    assert collection.name in [each["name"] for each in sheaf.collections()]
    collection.drop()
    with pytest.raises(SheafNotFound):
        collection.detail()


def test_a_judged_set_is_evaluated(collection):
    filled(collection)
    queries = [{"id": "q1", "text": "The whale number 3.", "judgements": {"d3": 2, "none": 1}}]
    collection.judge("set", queries)
    found = collection.evaluate("set", k=5)
    assert (found["queries"], found["recall"], found["reciprocal_rank"]) == (1, 0.5, 1.0)
    assert found == collection.evaluate(queries, k=5)


def test_figures_of_a_ranking():
    ndcg, recall, reciprocal_rank = scores_of(["a", "b", "c"], {"b": 1, "z": 1}, 3)
    assert (round(ndcg, 4), recall, reciprocal_rank) == (0.3869, 0.5, 0.5)
    assert scores_of(["a"], {}, 3) == (0.0, 0.0, 0.0)


def test_texts_are_embedded(sheaf):
    first, second = sheaf.embed(["a whale", "a whale"])
    assert first == second and len(first) > 10
    assert sheaf.health()["status"] == "ready"


def test_the_async_client_does_the_same(collection, in_async):
    filled(collection)

    async def run():
        own = in_async()
        async with own.sheaf:
            found = await own.search("whale number 2", k=1)
            assert found["matches"][0]["meta"]["docid"] == "d2"

            async def lines():
                yield {"docid": "late", "text": "A late whale."}

            assert [item["ok"] async for item in own.import_lines(lines())] == [True]
            assert len([item async for item in own.documents()]) == 6
            answers = await asyncio.gather(*(own.search("whale", k=2) for _ in range(20)))
            assert {len(answer["matches"]) for answer in answers} == {2}

    asyncio.run(run())


def test_events_tell_of_changes(collection, in_async):
    filled(collection, 1)

    async def run():
        own = in_async()
        async with own.sheaf:
            events = own.events()
            first = asyncio.ensure_future(events.__anext__())
            await asyncio.sleep(0.3)
            await own.add("A whale.", docid="seen")
            event = await asyncio.wait_for(first, 10)
            await events.aclose()
            assert (event["type"], event["data"]["docids"]) == ("ingest", ["seen"])

    asyncio.run(run())


def test_what_is_unavailable_is_asked_again_with_the_same_key():
    keys = []

    def answer(request):
        keys.append(request.headers["idempotency-key"])
        if len(keys) < 3:
            return httpx.Response(503, json={"code": "overloaded", "error": "busy"}, headers={"retry-after": "0"})
        return httpx.Response(201, json={"ok": True, "docid": "a", "chunks": 1, "version": 1})

    with Sheaf("http://sheaf", transport=httpx.MockTransport(answer)) as client:
        assert client.collection("docs").add("A whale.", docid="a")["version"] == 1
    assert len(keys) == 3 and len(set(keys)) == 1


def test_what_stays_unavailable_or_is_not_answered_is_raised():
    busy = httpx.MockTransport(lambda _: httpx.Response(429, json={"code": "rate_limited"}, headers={"retry-after": "0"}))
    with Sheaf("http://sheaf", transport=busy) as client, pytest.raises(SheafUnavailable) as unavailable:
        client.health()
    assert unavailable.value.status == 429
    with Sheaf("http://127.0.0.1:1") as client, pytest.raises(SheafUnreachable):
        client.health()


def test_of_several_nodes_the_next_one_is_asked_where_one_does_not_answer():
    asked = []
    away = set()

    def answer(request):
        asked.append((request.url.host, request.headers.get("x-consistency"), request.headers.get("idempotency-key")))
        if request.url.host in away:
            raise httpx.ConnectError("refused")
        if request.url.host == "second":
            return httpx.Response(503, json={"code": "not_ready"}, headers={"retry-after": "60"})
        number = 7 if request.url.host == "first" else 5
        return httpx.Response(200, json={"matches": []}, headers={"x-consistency": f"0a1b2c3d:{number}"})

    nodes = ["http://first/", "http://second", "http://third"]
    with Sheaf(nodes, transport=httpx.MockTransport(answer)) as client:
        docs = client.collection("docs")
        docs.search("whale")
        away.add("first")
        docs.add("A whale.")
        docs.search("whale")
    hosts, tokens, keys = zip(*asked)
    assert hosts == ("first", "first", "second", "third", "third")
    # The token of the third one is older, as where answers overtake each other.
    assert tokens == (None, *["0a1b2c3d:7"] * 4)
    assert keys[1] and keys[1:4] == (keys[1],) * 3
    with pytest.raises(ValueError):
        Sheaf([])


def test_a_cluster_that_was_set_up_anew_is_asked_without_what_was_seen_of_the_old_one(monkeypatch):
    monkeypatch.setattr("sheaf_client._client.RETRIES", 0)
    stream = "0a1b2c3d:7"

    def answer(request):
        if request.headers.get("x-consistency", stream) != stream:
            return httpx.Response(503, json={"code": "node_behind"}, headers={"retry-after": "0"})
        return httpx.Response(200, json={"ok": True}, headers={"x-consistency": stream})

    with Sheaf(["http://a", "http://b"], transport=httpx.MockTransport(answer)) as client:
        client.health()
        stream = "99999999:1"
        with pytest.raises(SheafUnavailable):
            client.health()
        client.health()
        client.health()


def test_a_limit_of_requests_is_not_tried_on_another_node():
    asked = []

    def answer(request):
        asked.append(request.url.host)
        return httpx.Response(429, json={"code": "rate_limited"}, headers={"retry-after": "0"})

    with Sheaf(["http://a", "http://b"], transport=httpx.MockTransport(answer)) as client:
        with pytest.raises(SheafUnavailable):
            client.health()
    assert asked == ["a"] * 4


def test_both_clients_have_the_same_methods_and_each_says_what_it_does():
    for own, other in ((AsyncSheaf, Sheaf), (AsyncCollection, Collection)):
        names = [name for name, _ in inspect.getmembers(other, inspect.isfunction) if not name.startswith("_")]
        for name in names:
            twin = {"close": "aclose"}.get(name, name)
            assert inspect.getdoc(getattr(other, name)) == inspect.getdoc(getattr(own, twin))
            assert inspect.getdoc(getattr(other, name)), name
