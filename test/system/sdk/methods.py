"""Drives a running server through every public method of pavedb-sdk. Called by sdk.test.ts as
`python methods.py URL ADMIN_KEY TENANT_KEY FOLDER`; prints one JSON line a case: {"name", "error"} ("" where it holds)."""
import json
import pathlib
import sys
import time
import traceback

import pavesdk
from pavesdk import Conflict, InvalidRequest, NotFoundError, PaveError, Unavailable

url, admin_key, tenant_key, folder = sys.argv[1:5]
folder = pathlib.Path(folder)
admin = pavesdk.connect(url, api_key=admin_key, tenant="acme")
db = pavesdk.connect(url, api_key=tenant_key, tenant="acme")
cases = []


def case(name):
    def take(function):
        cases.append((name, function))
        return function
    return take


def raises(kind, code, call, *args, **options):
    try:
        result = call(*args, **options)
    except PaveError as error:
        assert type(error) is kind, f"{type(error).__name__} {error.code} instead of {kind.__name__}"
        assert error.code == code, f"code {error.code} instead of {code}"
        assert error.message, "no message"
        return
    raise AssertionError(f"{kind.__name__} was not raised; answer {result}")


@case("connect, as a context manager; a closed client refuses")
def _():
    with pavesdk.connect(url, api_key=tenant_key, tenant="acme") as client:
        assert isinstance(client, pavesdk.HttpClient)
    raises(PaveError, "client_closed", client.collection, "docs")
    raises(InvalidRequest, "unsupported_scheme", pavesdk.connect, "ftp://x")


@case("create_collection with every option")
def _():
    docs = db.create_collection("docs")
    assert (docs.tenant, docs.name) == ("acme", "docs")
    made = db.create_collection("made", display_name="Made", search_mode="hybrid", chunking={"strategy": "fixed", "size": 400, "overlap": 50}, priority_key="weight")
    detail = made.detail()
    assert detail["display_name"] == "Made" and detail["search_mode"] == "hybrid", detail
    assert detail["chunking"] == {"strategy": "fixed", "size": 400, "overlap": 50} and detail["priority_key"] == "weight", detail
    space = docs.detail()
    assert db.create_collection("short", embedder=space["vector_space_key"]).detail()["vector_space_key"] == space["vector_space_key"]
    vectors = db.create_collection("vectors", embedder_type="identity", embed_model="", embedder_config={"dim": 3})
    assert vectors.detail()["embedder_type"] == "identity"
    raises(InvalidRequest, "invalid_chunking", db.create_collection, "bad", chunking={"size": 1})
    raises(InvalidRequest, "invalid_search_mode", db.create_collection, "bad", search_mode="nearest")
    raises(InvalidRequest, "validation_error", db.create_collection, "bad", embedder="builtin", embedder_type="builtin")
    raises(InvalidRequest, "invalid_collection_name", db.create_collection, "not a slug")


@case("create_collection again: the same is fine, other settings are refused")
def _():
    db.create_collection("made", priority_key="weight")
    raises(Conflict, "chunking_conflict", db.create_collection, "made", chunking={"size": 500})


@case("list_collections and collection")
def _():
    assert {"docs", "made", "short", "vectors"} <= {each.name for each in db.list_collections()}
    assert db.list_collections(tenant="acme")[0].tenant == "acme"
    with db.collection("docs") as docs:
        assert docs.detail()["name"] == "docs"
    raises(NotFoundError, "collection_not_found", db.collection("nothing").detail)


@case("Collection.add: text and vector")
def _():
    docs, vectors = db.collection("docs"), db.collection("vectors")
    added = docs.add("Captain Nemo commands the Nautilus", docid="NEMO", metadata={"shelf": "A", "title": "O'Brien -- x; y"})
    assert (added["docid"], added["chunks"], added["collection"]) == ("NEMO", 1, "docs"), added
    assert docs.add("nameless")["docid"]
    assert vectors.add(vector=[1, 0, 0], docid="EAST")["chunks"] == 1
    raises(InvalidRequest, "no_text_extracted", docs.add, "  ")
    raises(InvalidRequest, "dim_mismatch", vectors.add, vector=[1.0])
    raises(InvalidRequest, "vectors_only", vectors.add, "words")
    raises(InvalidRequest, "invalid_metadata_keys", docs.add, "x", docid="A", metadata={"docid": "B"})


@case("Collection.add_many: every form of item, one bad one among them")
def _():
    answer = db.collection("docs").add_many(["plain text", ("text and docid", "PAIR"), ("all three", "TRIPLE", {"shelf": "B"}), {"text": "a mapping", "docid": "MAP"}, {"text": "", "docid": "BAD"}])
    assert (answer["count"], answer["succeeded"], answer["failed"]) == (5, 4, 1), answer
    assert [each["index"] for each in answer["documents"]] == [0, 1, 2, 3, 4], answer
    assert answer["documents"][4]["code"] == "no_text_extracted", answer
    assert db.collection("vectors").add_many([{"vector": [0, 1, 0], "docid": "NORTH"}, ([0, 0, 1], "UP")])["succeeded"] == 2
    raises(InvalidRequest, "validation_error", db.collection("docs").add_many, [])


@case("Collection.ingest: a text file, with docid, with metadata")
def _():
    file = folder / "My File (1).v2.txt"
    file.write_text("A file about submarines")
    assert db.collection("docs").ingest(file)["docid"] == "MY_FILE_1_V2_TXT"
    assert db.collection("docs").ingest(str(file), docid="OWN", metadata={"n": 1})["docid"] == "OWN"
    assert db.collection("docs").get("OWN")["metadata"]["filename"] == "My File (1).v2.txt"
    unknown = folder / "program.exe"
    unknown.write_bytes(b"MZ\x00\x01\xff\xfe")
    raises(InvalidRequest, "unsupported_or_invalid_document", db.collection("docs").ingest, unknown)


@case("Collection.ingest: a CSV with its three options")
def _():
    file = folder / "cities.csv"
    file.write_text("city,country,population\nOslo,Norway,700000\nPorto,Portugal,230000\n")
    docs = db.collection("docs")
    assert docs.ingest(file, docid="CITIES", csv_options={"has_header": "yes", "meta_cols": "country", "include_cols": "city,population"})["chunks"] == 2
    chunk = docs.get_chunk("CITIES::row_0")
    assert chunk["meta"]["country"] == "Norway", chunk
    assert docs.get_chunk_content("CITIES::row_0")["content"] == b"city: Oslo\npopulation: 700000"
    raises(InvalidRequest, "invalid_csv_options", docs.ingest, file, csv_options={"has_header": "yes", "meta_cols": "nothing"})


@case("Collection.search: text, vector, filters, mode, content filter, include_common")
def _():
    docs = db.collection("docs")
    hits = docs.search("Captain Nemo", k=2)
    assert len(hits) == 2 and hits[0]["meta"]["docid"] == "NEMO" and hits[0]["text"].startswith("Captain"), hits
    assert [hit["meta"]["docid"] for hit in docs.search("text", filters={"shelf": "B"})] == ["TRIPLE"]
    assert docs.search("Captain Nemo", mode="boost")[0]["match_reason"].startswith("boost: ")
    assert docs.search("Captain Nemo", mode="hybrid")[0]["match_reason"].startswith("hybrid: ")
    assert [hit["meta"]["docid"] for hit in docs.search("x", content_filter={"op": "phrase", "value": "the nautilus"})] == ["NEMO"]
    assert "SHARED" in [hit["meta"]["docid"] for hit in docs.search("common knowledge", include_common=True)]
    assert db.collection("vectors").search(vector=[0, 2, 0], k=1)[0]["meta"]["docid"] == "NORTH"
    assert len(docs.search("text")) == 5
    assert db.collection("nothing").search("text") == []
    raises(InvalidRequest, "validation_error", docs.search)
    raises(InvalidRequest, "validation_error", docs.search, "x", k=0)
    raises(InvalidRequest, "search_mode_requires_text", db.collection("vectors").search, vector=[1, 0, 0], mode="hybrid")
    raises(InvalidRequest, "dim_mismatch", db.collection("vectors").search, vector=[1])


@case("Collection.get, list_documents, delete")
def _():
    docs = db.collection("docs")
    found = docs.get("NEMO")
    assert found["metadata"]["title"] == "O'Brien -- x; y" and found["version"] == 1 and found["chunk_ids"] == ["NEMO::chunk_0"], found
    assert "NEMO" in [each["docid"] for each in docs.list_documents()]
    docs.add("to be deleted", docid="GONE")
    assert docs.delete("GONE")["chunks_deleted"] == 1
    assert docs.delete("GONE")["chunks_deleted"] == 0
    raises(NotFoundError, "document_not_found", docs.get, "GONE")


@case("Collection.list_chunks, get_chunk, get_chunk_content")
def _():
    docs = db.collection("docs")
    docs.add("x" * 1500, docid="LONG")
    chunks = docs.list_chunks("LONG")
    assert [each["rid"] for each in chunks] == ["LONG::chunk_0", "LONG::chunk_1"], chunks
    assert docs.get_chunk("LONG::chunk_1")["docid"] == "LONG"
    content = docs.get_chunk_content("LONG::chunk_1")
    assert content["content"] == b"x" * 700 and content["content_type"].startswith("text/plain"), content
    raises(NotFoundError, "chunk_not_found", docs.get_chunk, "LONG::chunk_9")
    raises(NotFoundError, "chunk_content_not_found", db.collection("vectors").get_chunk_content, "EAST::0")


@case("Collection.queries, get_query, replay")
def _():
    docs = db.collection("docs")
    hits = docs.search("Captain Nemo", k=3, mode="hybrid")
    latest = docs.queries(limit=1)[0]
    assert latest["query_text"] == "Captain Nemo" and latest["result_count"] == len(hits), latest
    assert len(docs.queries(limit=2, offset=1)) == 2
    entry = docs.get_query(latest["query_id"])
    assert entry["result_ids"] == [hit["id"] for hit in hits] and entry["mode"] == "hybrid", entry
    assert [hit["id"] for hit in docs.replay(latest["query_id"])] == entry["result_ids"]
    assert docs.queries(limit=1)[0]["replay_of"] == latest["query_id"]
    raises(NotFoundError, "query_not_found", docs.get_query, "01900000-0000-7000-8000-000000000000")
    raises(NotFoundError, "query_not_found", docs.replay, "01900000-0000-7000-8000-000000000000")


@case("Collection.update and rename")
def _():
    made = admin.collection("made")
    assert made.update(display_name="Renamed")["display_name"] == "Renamed"
    raises(InvalidRequest, "invalid_display_name", made.update, display_name="")
    raises(Conflict, "collection_conflict", made.rename, "docs")
    raises(InvalidRequest, "move_invalid", made.rename, "made")
    assert made.rename("remade").name == "remade" and made.detail()["name"] == "remade"
    raises(NotFoundError, "collection_not_found", admin.collection("made").rename, "x")


@case("delete_collection")
def _():
    assert db.delete_collection("remade")["deleted"] == "remade"
    raises(NotFoundError, "collection_not_found", db.delete_collection, "remade")


@case("embedders")
def _():
    answer = db.embedders()
    assert answer["tenant"] == "acme" and answer["count"] == len(answer["embedders"]) > 0, answer
    assert answer["default"]["instance_keys"] and answer["default"]["vector_key"], answer
    assert set(answer["embedders"][0]) == {"key", "vector_key", "embedder_type", "embed_model"}, answer


@case("list_tenants, create_tenant, get_tenant, update_tenant")
def _():
    made = admin.create_tenant("beta", max_collections=2)
    assert made["tenant"] == "beta" and made["key"], made
    with pavesdk.connect(url, api_key=made["key"], tenant="beta") as beta:
        beta.create_collection("one")
    assert "beta" in admin.list_tenants() and "acme" in admin.list_tenants()
    assert admin.get_tenant("beta")["max_collections"] == 2
    assert admin.update_tenant("beta", max_collections=1)["max_collections"] == 1
    with pavesdk.connect(url, api_key=made["key"], tenant="beta") as beta:
        raises(Unavailable, "collection_limit_reached", beta.create_collection, "two")
    assert admin.update_tenant("beta", max_collections=None)["max_collections"] is None
    raises(Conflict, "tenant_exists", admin.create_tenant, "beta")
    raises(NotFoundError, "tenant_not_found", admin.get_tenant, "gamma")
    raises(InvalidRequest, "admin_required", db.list_tenants)


@case("create_tenant_key, list_tenant_keys, revoke_tenant_key")
def _():
    made = admin.create_tenant_key("beta", label="second")
    assert made["tenant"] == "beta" and made["label"] == "second" and made["key"] and made["key_id"], made
    with pavesdk.connect(url, api_key=made["key"], tenant="beta") as beta:
        assert [each.name for each in beta.list_collections()] == ["one"]
        listed = admin.list_tenant_keys("beta")
        assert made["key"] not in json.dumps(listed) and made["key_id"] in json.dumps(listed), listed
        admin.revoke_tenant_key("beta", made["key_id"])
        raises(InvalidRequest, "auth_invalid", beta.list_collections)
    raises(NotFoundError, "key_not_found", admin.revoke_tenant_key, "beta", "nothing")


@case("delete_tenant: refused while it has collections")
def _():
    raises(Conflict, "tenant_not_empty", admin.delete_tenant, "beta")
    admin.delete_collection("one", tenant="beta")
    admin.delete_tenant("beta")
    raises(NotFoundError, "tenant_not_found", admin.get_tenant, "beta")


@case("a wrong key and a key of another tenant are InvalidRequest")
def _():
    with pavesdk.connect(url, api_key="wrong", tenant="acme") as stranger:
        raises(InvalidRequest, "auth_invalid", stranger.list_collections)
    raises(InvalidRequest, "auth_forbidden", db.list_collections, tenant="global")


@case("a server that cannot be reached is PaveError request_failed")
def _():
    with pavesdk.connect("http://127.0.0.1:9", tenant="acme") as nobody:
        raises(PaveError, "request_failed", nobody.list_collections)


@case("reindex, reindex_job, cancel_reindex, pause_reindex, resume_reindex")
def _():
    spaces = db.create_collection("spaces")
    job = spaces.reindex(embedder_type="openai", embed_model="m")
    assert job["status"] in ("queued", "running") and job["target"]["embedder_type"] == "openai", job
    for _ in range(6000):
        job = spaces.reindex_job(job["job_id"])
        if job["status"] == "succeeded":
            break
        time.sleep(0.02)
    assert job["status"] == "succeeded" and spaces.detail()["embedder_type"] == "openai", job
    raises(InvalidRequest, "reindex_invalid", spaces.reindex, embedder_type="openai", embed_model="m")
    raises(NotFoundError, "reindex_job_not_found", spaces.reindex_job, "nothing")
    raises(Conflict, "reindex_state_conflict", spaces.cancel_reindex, job["job_id"])
    raises(Conflict, "reindex_state_conflict", admin.pause_reindex, job["job_id"])
    raises(Conflict, "reindex_state_conflict", admin.resume_reindex, job["job_id"])


@case("Collection.dump_archive, Collection.restore_archive")
def _():
    docs = db.collection("docs")
    before = docs.detail()["doc_count"]
    archive = docs.dump_archive()
    assert archive[:2] == b"PK", archive[:20]
    path = docs.dump_archive(folder / "docs.zip")
    assert pathlib.Path(path).read_bytes()[:2] == b"PK"
    copy = db.collection("docs-copy")
    copy.restore_archive(archive)
    assert copy.detail()["doc_count"] == before
    raises(Conflict, "collection_exists", copy.restore_archive, archive)
    raises(InvalidRequest, "collection_archive_invalid", db.collection("docs-other").restore_archive, b"no zip")
    raises(NotFoundError, "collection_not_found", db.collection("nothing").dump_archive)
    db.delete_collection("docs-copy")


@case("dump_archive, restore_archive")
def _():
    archive = admin.dump_archive()
    assert archive[:2] == b"PK", archive[:20]
    assert pathlib.Path(admin.dump_archive(folder / "all.zip")).read_bytes()[:2] == b"PK"
    db.create_collection("later")
    assert admin.restore_archive(archive)["counts"]["collections"] >= 1
    raises(NotFoundError, "collection_not_found", db.collection("later").detail)
    assert db.collection("docs").detail()["name"] == "docs"
    raises(InvalidRequest, "archive_invalid", admin.restore_archive, b"no zip")
    raises(InvalidRequest, "admin_required", db.dump_archive)


@case("every public method of the package has a case here")
def _():
    source = pathlib.Path(__file__).read_text()
    for kind, prefix in ((pavesdk.BaseClient, ""), (pavesdk.Collection, "Collection.")):
        for name in vars(kind):
            if not name.startswith("_") and callable(getattr(kind, name)):
                assert f".{name}(" in source or f".{name}," in source or name == "close", name


for name, function in cases:
    try:
        function()
        error = ""
    except Exception as caught:
        where = [frame for frame in traceback.extract_tb(caught.__traceback__) if frame.filename == __file__][:2][-1]
        error = f"line {where.lineno}: {type(caught).__name__}: {caught}"
    print(json.dumps({"name": name, "error": error}), flush=True)
