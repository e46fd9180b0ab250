# The peers of `load text peers` that Python has, on the same windows and queries, one thread: `tantivy` (PyPI) and
# `fts5` (SQLite's). `python text_peers.py PEER FILE` reads JSON {windows, questions: {kind: [[term, ...], ...]}} and
# prints JSON: documents per second, bytes per document, and for each kind queries per second (the median of five
# rounds), by CPU time, the ten best hits each. Kinds: `phrase` is the terms next to each other, `prefix` every word
# that begins with the term, and any other kind matches any of the terms.
import json
import os
import sqlite3
import sys
import tempfile
import time

ROUNDS = 5
TOP = 10


def rate_of(ask, questions):
    rounds = []
    for _ in range(ROUNDS):
        started = time.process_time()
        for question in questions:
            ask(question)
        rounds.append(len(questions) / (time.process_time() - started))
    return sorted(rounds)[ROUNDS // 2]


def report(name, seconds, size, ask, query_of, given, most=None):
    # The queries are built before the clock starts.
    rates = {kind: rate_of(ask, [query_of(kind, terms) for terms in asked[:most]]) for kind, asked in given["questions"].items()}
    count = len(given["windows"])
    print(json.dumps({"name": name, "rate": count / seconds, "bytes": size / count, "questions": rates}))


def run_tantivy(given, folder):
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", stored=False, tokenizer_name="whitespace")
    schema = builder.build()

    def query_of(kind, terms):
        if kind == "phrase":
            return tantivy.Query.phrase_query(schema, "text", terms)
        if kind == "prefix":
            return tantivy.Query.regex_query(schema, "text", terms[0] + ".*")
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, tantivy.Query.term_query(schema, "text", term)) for term in terms])

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
    name = f"tantivy {tantivy.__version__.split(',')[0].removeprefix('tantivy v')}, {searcher.num_segments} segments"
    report(name, seconds, size, lambda query: searcher.search(query, TOP, count=False), query_of, given)


def run_fts5(given, folder):
    file = os.path.join(folder, "fts5.db")
    db = sqlite3.connect(file)
    db.execute("CREATE VIRTUAL TABLE windows USING fts5(text, content='')")
    started = time.process_time()
    with db:
        db.executemany("INSERT INTO windows(rowid, text) VALUES (?, ?)", enumerate(given["windows"], 1))
    db.execute("INSERT INTO windows(windows) VALUES ('optimize')")
    db.commit()
    seconds = time.process_time() - started

    def query_of(kind, terms):
        quoted = ['"' + term.replace('"', '""') + '"' for term in terms]
        if kind == "phrase":
            return " + ".join(quoted)
        return quoted[0] + " *" if kind == "prefix" else " OR ".join(quoted)

    def ask(query):
        db.execute("SELECT rowid FROM windows WHERE windows MATCH ? ORDER BY rank LIMIT ?", (query, TOP)).fetchall()

    report(f"SQLite {sqlite3.sqlite_version} FTS5", seconds, os.path.getsize(file), ask, query_of, given, most=10)


with open(sys.argv[2], encoding="utf8") as source:
    asked = json.load(source)
with tempfile.TemporaryDirectory() as directory:
    {"tantivy": run_tantivy, "fts5": run_fts5}[sys.argv[1]](asked, directory)
