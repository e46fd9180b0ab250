"""Serves Qdrant's HTTP interface as far as an import and its test use it, over the local mode of Qdrant's own Python
client: the client's models read the bodies and write the answers. Prints its address; ends with standard input.

    python qdrant_server.py
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from qdrant_client import QdrantClient, models

client = QdrantClient(":memory:")
lock = threading.Lock()


def answer(method, path, body):
    name = path[1]
    if method == "PUT" and path[2:] == []:
        request = models.CreateCollection.model_validate_json(body)
        return client.create_collection(name, vectors_config=request.vectors)
    if method == "PUT" and path[2:] == ["points"]:
        request = models.PointsList.model_validate_json(body)
        return client.upsert(name, request.points).model_dump(mode="json")
    if not client.collection_exists(name):
        return None
    if method == "GET" and path[2:] == []:
        return client.get_collection(name).model_dump(mode="json")
    if method == "POST" and path[2:] == ["points", "scroll"]:
        request = models.ScrollRequest.model_validate_json(body)
        points, offset = client.scroll(
            name,
            limit=request.limit or 10,
            offset=request.offset,
            with_payload=request.with_payload,
            with_vectors=request.with_vector or False,
        )
        result = models.ScrollResult(points=points, next_page_offset=offset)
        return result.model_dump(mode="json")
    return None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = self.path.split("?")[0].strip("/").split("/")
        with lock:
            result = answer(self.command, path, body) if path[0] == "collections" else None
        status = 404 if result is None else 200
        text = json.dumps({"result": result, "status": "ok" if status == 200 else {"error": "Not found"}, "time": 0.0})
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_PUT = do_POST = handle_request

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"http://127.0.0.1:{server.server_port}", flush=True)
sys.stdin.read()
