// The bytes of all request bodies together are bounded: a body that does not fit is rejected, and the bytes are free
// again afterwards.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measure, route, startProbe } from '../../kit/http/probe-server.js';

test('bodies beyond what the server may hold get 503 overloaded until others are done', async (t) => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const holding = route('POST', '/hold', async (request) => {
    const { length } = await request.body.bytes();
    await held;
    return { status: 200, json: { bytes: length } };
  });
  const probe = await startProbe(t, [holding, route('POST', '/measure', measure)], { heldBytesMax: 60_000 });
  const post = (path: string, bytes: number): Promise<Response> =>
    fetch(probe.url(path), { method: 'POST', body: 'x'.repeat(bytes) });
  const first = post('/hold', 50_000);
  while ((await post('/measure', 20_000)).status === 200) await new Promise((resolve) => setTimeout(resolve, 5));
  const refused = await post('/measure', 20_000);
  assert.deepEqual(
    [refused.status, ((await refused.json()) as { code: string }).code, refused.headers.get('retry-after')],
    [503, 'overloaded', '1'],
  );
  assert.equal((await post('/measure', 5_000)).status, 200);
  release();
  assert.equal((await first).status, 200);
  assert.equal((await post('/measure', 55_000)).status, 200);
});
