# The peer of load/words.ts: tantivy (PyPI) on the same windows and questions, one thread. Reads a JSON file {windows, questions:
# {kind: [[term, ...], ...]}} and prints JSON: documents a second, bytes a document, and by kind questions a second (the median
# of five rounds), by CPU time. Questions are made before the clock starts.
import json
import os
import sys
import tempfile
import time

import tantivy

ROUNDS = 5

with open(sys.argv[1], encoding="utf8") as file:
    given = json.load(file)

builder = tantivy.SchemaBuilder()
builder.add_text_field("text", stored=False, tokenizer_name="whitespace")
schema = builder.build()


def query_of(terms):
    parts = [(tantivy.Occur.Should, tantivy.Query.term_query(schema, "text", term)) for term in terms]
    return tantivy.Query.boolean_query(parts)


def rate_of(searcher, queries):
    rounds = []
    for _ in range(ROUNDS):
        started = time.process_time()
        for query in queries:
            searcher.search(query, 10, count=False)
        rounds.append(len(queries) / (time.process_time() - started))
    return sorted(rounds)[ROUNDS // 2]


with tempfile.TemporaryDirectory() as folder:
    index = tantivy.Index(schema, path=folder)
    writer = index.writer(heap_size=500_000_000, num_threads=1)
    started = time.process_time()
    for text in given["windows"]:
        writer.add_document(tantivy.Document(text=text))
    writer.commit()
    writer.wait_merging_threads()
    seconds = time.process_time() - started
    size = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
    index.reload()
    searcher = index.searcher()
    questions = {kind: rate_of(searcher, [query_of(terms) for terms in asked]) for kind, asked in given["questions"].items()}
    count = len(given["windows"])
    name = f"tantivy {tantivy.__version__.split(',')[0].removeprefix('tantivy v')}, {searcher.num_segments} segments"
    print(json.dumps({"name": name, "rate": count / seconds, "bytes": size / count, "questions": questions}))
