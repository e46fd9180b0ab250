// The embeddings endpoint with the real Python client of OpenAI.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pythonWith, runPython } from '../../kit/python.js';
import { startTestServer } from '../../kit/server.js';

const OPENAI = 'openai==3.57.0';
const { python, skip } = pythonWith(OPENAI);

const PROGRAM = `
import json, os
from openai import OpenAI, UnprocessableEntityError
client = OpenAI(base_url=os.environ["SHEAF"] + "/v1", api_key="none", max_retries=0)
texts = ["Captain Nemo commands the Nautilus.", "a whale"]
packed = client.embeddings.create(model="builtin", input=texts)
plain = client.embeddings.create(model="builtin", input=texts, encoding_format="float")
try:
    client.embeddings.create(model="text-embedding-3-small", input="x")
    refused = False
except UnprocessableEntityError:
    refused = True
print(json.dumps({
    "model": plain.model,
    "tokens": plain.usage.total_tokens,
    "packed": [one.embedding for one in packed.data],
    "plain": [one.embedding for one in plain.data],
    "refused": refused,
}))
`;

test(`${OPENAI} gets vectors, packed and as numbers, and an error that it knows`, { skip }, async () => {
  const server = await startTestServer();
  const { code, output } = await runPython(python, ['-c', PROGRAM], 60_000, { SHEAF: server.url });
  assert.equal(code, 0, output);
  const found = JSON.parse(output) as {
    model: string;
    tokens: number;
    packed: number[][];
    plain: number[][];
    refused: boolean;
  };
  assert.deepEqual([found.model, found.tokens, found.refused], ['static-minilm-512', 7, true]);
  assert.deepEqual(found.packed, found.plain);
  assert.deepEqual(
    found.plain.map(({ length }) => length),
    [512, 512],
  );
});
