# Other vector libraries that Python has: hnswlib and faiss-cpu, built for this processor, and SymphonyQG (rabitqlib).
# The argument is the path of a JSON file. One thread, one query per call, CPU time. Writes a line of JSON for each
# library.
import json
import os
import sys
import tempfile
import time

given = json.load(open(sys.argv[1]))
PASSES = 3


def matrix(name, kind, width):
    import numpy
    return numpy.fromfile(given[name], dtype=kind).reshape(-1, width)


def bytes_of(save):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "index")
        save(path)
        return os.path.getsize(path)


def hnswlib_peer(rows):
    import hnswlib
    index = hnswlib.Index("ip", rows.shape[1])
    index.init_index(len(rows), ef_construction=200, M=16)
    index.set_num_threads(1)

    def search(query, ef):
        if search.ef != ef:
            index.set_ef(ef)
            search.ef = ef
        return index.knn_query(query, k=given["k"], num_threads=1)[0][0]

    search.ef = 0
    return "hnswlib, this CPU", lambda: index.add_items(rows, num_threads=1), search, lambda: bytes_of(index.save_index)


def faiss_peer(rows):
    import faiss
    faiss.omp_set_num_threads(1)
    index = faiss.IndexHNSWSQ(rows.shape[1], faiss.ScalarQuantizer.QT_8bit, 16, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = 200

    def build():
        index.train(rows)
        index.add(rows)

    def search(query, ef):
        index.hnsw.efSearch = ef
        return index.search(query, given["k"])[1][0]

    return "faiss HNSW, 8 bits", build, search, lambda: faiss.serialize_index(index).size


def symphonyqg_peer(rows):
    import rabitqlib
    index = rabitqlib.SymqgIndex(rows.shape[1], 32, "l2")
    return "SymphonyQG (rabitqlib)", lambda: index.build(rows, 200, 1), lambda query, ef: first_ids(index.search(query, given["k"], ef, 1)), lambda: bytes_of(index.save)


def first_ids(answer):
    """Of ids and distances, whichever comes first."""
    return next(part for part in answer if part.dtype.kind in "iu").reshape(-1)


def measure(name):
    rows, queries, truth = (matrix("rows", "float32", given["dim"]), matrix("queries", "float32", given["dim"]), matrix("truth", "int32", given["k"]))
    title, build, search, size = {"hnswlib": hnswlib_peer, "faiss": faiss_peer, "symphonyqg": symphonyqg_peer}[name](rows)
    started = time.process_time()
    build()
    rate = len(rows) / (time.process_time() - started)
    asked = [query.reshape(1, -1) for query in queries]
    points = []
    for ef in given["efs"]:
        found = [search(query, ef) for query in asked]
        recall = sum(len(set(map(int, ids)) & set(map(int, near))) for ids, near in zip(found, truth)) / truth.size
        times = []
        for _ in range(PASSES):
            started = time.process_time()
            for query in asked:
                search(query, ef)
            times.append(time.process_time() - started)
        points.append({"ef": ef, "recall": recall, "qps": len(asked) / min(times)})
    return {"name": title, "buildRate": rate, "bytesAVector": size() / len(rows), "points": points}


for name in given["peers"]:
    try:
        print(json.dumps(measure(name)), flush=True)
    except Exception as error:
        print(json.dumps({"skipped": name, "reason": f"{type(error).__name__}: {error}"}), flush=True)
