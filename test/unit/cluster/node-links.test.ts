// Connections between nodes over real sockets: many questions at once, large frames, another key, nodes that end, are cut
// off or cannot be reached, and bytes that are no frames.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Network } from '../../../load/kit/network.js';
import { createPrng } from '../../../src/base/prng.js';
import { FrameReader, LinkServer, type NodeAddress, NodeLinks, newKey } from '../../../src/cluster/node-links.js';
import { freePort } from '../../../load/kit/server.js';
import { SILENT } from '../../kit/log.js';
import { until } from '../../kit/until.js';

const ASK_MS = 20_000;
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

async function served(t: TestContext, advertised = ''): Promise<LinkServer> {
  const server = await LinkServer.listen({ listen: '127.0.0.1:0', advertised, key: newKey() });
  t.after(() => server.close());
  server.on('search', async (question) => Buffer.from(`found ${text(question)}`));
  return server;
}

/** Links of a node that knows one other, `b`; and what it has logged. */
function linksTo(t: TestContext, addressOf: () => NodeAddress | undefined): { links: NodeLinks; warnings: unknown[] } {
  const warnings: unknown[] = [];
  const links = new NodeLinks({
    node: 'a',
    addressOf: (node) => (node === 'b' ? addressOf() : undefined),
    log: { ...SILENT, warn: (what: unknown) => void warnings.push(what) } as typeof SILENT,
  });
  t.after(() => links.close());
  return { links, warnings };
}

test('many questions are under way on one connection, and each gets its own answer', async (t) => {
  const server = await served(t);
  server.on('search', async (question) => {
    await sleep(Number(text(question)) % 7);
    return Buffer.from(`found ${text(question)}`);
  });
  server.on('job', async () => Promise.reject(new Error('it is secret why')));
  const { links } = linksTo(t, () => server.address);
  const answers = await Promise.all(
    Array.from({ length: 500 }, async (_, i) => text(await links.ask('search', 'b', Buffer.from(String(i)), ASK_MS))),
  );
  assert.deepEqual(
    answers,
    Array.from({ length: 500 }, (_, i) => `found ${i}`),
  );
  await assert.rejects(links.ask('job', 'b', Buffer.from('x'), ASK_MS), { message: 'it cannot answer' });
  await assert.rejects(links.ask('copy', 'b', Buffer.from('x'), ASK_MS), { message: 'it cannot answer' });
  await assert.rejects(links.ask('search', 'c', Buffer.from('x'), ASK_MS), { message: /not told/ });
});

test('frames of any size arrive whole, beside others', async (t) => {
  const server = await served(t);
  server.on('copy', async (question) => Buffer.from(question));
  const { links } = linksTo(t, () => server.address);
  const sizes = [0, 1, 16_383, 16_384, 16_385, 3_000_000, 20_000_000];
  const sent = sizes.map((size) => Buffer.alloc(size, size % 251));
  const got = await Promise.all(sent.map((bytes) => links.ask('copy', 'b', bytes, ASK_MS)));
  for (const [i, bytes] of sent.entries()) assert.ok(bytes.equals(got[i] as Uint8Array), `${sizes[i]} bytes`);
});

test('frames are the same wherever they are cut', () => {
  const prng = createPrng(7);
  for (let round = 0; round < 300; round++) {
    const frames = Array.from({ length: 1 + prng.int(12) }, () => {
      const payload = Buffer.from(Array.from({ length: prng.int(3) === 0 ? 0 : prng.int(200) }, () => prng.int(256)));
      return { id: prng.int(2 ** 32), kind: prng.int(256), payload };
    });
    const sent = Buffer.concat(
      frames.flatMap(({ id, kind, payload }) => {
        const header = Buffer.alloc(9);
        header.writeUInt32LE(payload.length, 0);
        header.writeUInt32LE(id, 4);
        header.writeUInt8(kind, 8);
        return [header, payload];
      }),
    );
    const found: typeof frames = [];
    const reader = new FrameReader((id, kind, payload) => found.push({ id, kind, payload: Buffer.from(payload) }));
    const most = 1 + prng.int(40) ** 2;
    for (let at = 0; at < sent.length; ) {
      const to = at + 1 + prng.int(most);
      reader.read(Buffer.from(sent.subarray(at, to)));
      at = to;
    }
    assert.deepEqual(found, frames, `round ${round}`);
  }
  assert.throws(() => new FrameReader(() => {}).read(Buffer.alloc(9, 255)), /too large/);
});

test('whoever does not have the key of a process gets no answer', async (t) => {
  const server = await served(t);
  const stranger = { ...server.address, key: Buffer.alloc(32, 1).toString('base64') };
  const { links, warnings } = linksTo(t, () => stranger);
  await assert.rejects(links.ask('search', 'b', Buffer.from('x'), ASK_MS));
  await assert.rejects(links.ask('search', 'b', Buffer.from('x'), ASK_MS), { message: 'it was not reached' });
  assert.equal(warnings.length, 1);
  assert.ok(!JSON.stringify(warnings).includes(stranger.key));
  // Plain bytes are no handshake, and harm nobody.
  const socket = connect(server.address.port, '127.0.0.1').on('error', () => undefined);
  socket.write(Buffer.alloc(100_000, 7));
  await until(() => socket.destroyed);
  const { links: known } = linksTo(t, () => server.address);
  assert.equal(text(await known.ask('search', 'b', Buffer.from('x'), ASK_MS)), 'found x');
});

test('a process that ends fails what it was asked, and its successor is asked at its own address', async (t) => {
  const first = await served(t);
  let address = first.address;
  const { links } = linksTo(t, () => address);
  assert.equal(text(await links.ask('search', 'b', Buffer.from('1'), ASK_MS)), 'found 1');
  first.on('search', () => new Promise(() => undefined));
  const lost = links.ask('search', 'b', Buffer.from('2'), ASK_MS);
  const failed = assert.rejects(lost);
  await sleep(20);
  first.close();
  await failed;
  const second = await served(t);
  address = second.address;
  assert.equal(text(await links.ask('search', 'b', Buffer.from('3'), ASK_MS)), 'found 3');
});

test('a node that is cut off is given up after seconds, and found again', async (t) => {
  const server = await served(t);
  const network = new Network();
  t.after(() => network.close());
  const port = await network.link('a', 'b', server.address.port);
  const { links } = linksTo(t, () => ({ ...server.address, port }));
  assert.equal(text(await links.ask('search', 'b', Buffer.from('1'), ASK_MS)), 'found 1');
  network.cut('a', 'in');
  const startedAtMs = performance.now();
  await assert.rejects(links.ask('search', 'b', Buffer.from('2'), 60_000), { message: 'it does not answer any more' });
  assert.ok(performance.now() - startedAtMs < 30_000);
  await assert.rejects(links.ask('search', 'b', Buffer.from('3'), 60_000), { message: 'it does not answer' });
  network.heal();
  await until(async () =>
    links.ask('search', 'b', Buffer.from('4'), ASK_MS).then(
      (answer) => text(answer) === 'found 4',
      () => false,
    ),
  );
});

test('work that takes longer than a node may be silent is waited for', async (t) => {
  const server = await served(t);
  server.on('job', async () => {
    await sleep(6000);
    return Buffer.from('done');
  });
  const { links } = linksTo(t, () => server.address);
  assert.equal(text(await links.ask('job', 'b', Buffer.from('x'), ASK_MS)), 'done');
  await assert.rejects(links.ask('job', 'b', Buffer.from('x'), 1000), { message: 'it does not answer in time' });
});

test('a node tells others its address, or what it is told to tell', async (t) => {
  assert.equal((await served(t)).address.host, '127.0.0.1');
  const { host, port } = (await served(t, 'node-1.example:8090')).address;
  assert.deepEqual([host, port], ['node-1.example', 8090]);
  // Front threads take the ports after that of the main thread.
  const base = await freePort();
  const front = await LinkServer.listen({ listen: `127.0.0.1:${base}`, advertised: 'a:9000', key: newKey() }, 1);
  t.after(() => front.close());
  assert.equal(front.address.port, 9002);
  connect(base + 2, '127.0.0.1')
    .on('error', (error) => assert.fail(error))
    .destroy();
  await assert.rejects(LinkServer.listen({ listen: '203.0.113.1:1', advertised: '', key: newKey() }), {
    message: /cannot listen .* set cluster\.listen/,
  });
});
