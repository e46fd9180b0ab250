// Copies of a node's data over real sockets: a giver that ends in the middle, and one that another taker has.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CopyGiver, NoCopy, takeCopy } from '../../../src/cluster/data-copy.js';
import type { LogStream } from '../../../src/cluster/log-stream.js';
import { type LentAnswer, LinkServer, newKey } from '../../../src/cluster/node-links.js';
import { shardNames } from '../../../src/storage/data-directory.js';
import { SILENT } from '../../kit/log.js';
import { tempDirectory } from '../../kit/temp.js';

const [SHARD] = shardNames(1) as [string];
const PIECE_BYTES = 512 * 1024;
const CATALOG = Buffer.alloc(3_000_000, 5);

interface Giver {
  readonly links: LinkServer;
  /** What it tells twice a second. */
  readonly told: object;
  /** Answered questions for pieces. */
  pieces: number;
}

interface GiverWish {
  applied: number;
  copyMs: number;
  endsAfter: number;
  /** What becomes of each piece before it is sent. */
  held: (piece: LentAnswer, number: number) => Promise<LentAnswer>;
}

const keep: GiverWish['held'] = async (piece) => piece;

/** A node whose catalog is `content`, after some time for the copy. `endsAfter` pieces it is gone. */
async function giverOf(
  t: TestContext,
  node: string,
  content: Buffer,
  { applied = 10, copyMs = 0, endsAfter = Infinity, held = keep }: Partial<GiverWish> = {},
): Promise<Giver> {
  const links = await LinkServer.listen({ listen: '127.0.0.1:0', advertised: '', key: newKey() });
  t.after(() => links.close());
  const giver = new CopyGiver({
    path: tempDirectory(),
    copyTo: async (folder) => {
      await sleep(copyMs);
      for (const [name, bytes] of [
        ['catalog', content],
        [SHARD, Buffer.from(node)],
      ] as const) {
        mkdirSync(join(folder, name), { recursive: true });
        writeFileSync(join(folder, name, 'data.mdb'), bytes);
      }
    },
    applied: () => applied,
    agrees: async () => true,
    log: SILENT,
  });
  const state: Giver = {
    links,
    told: { node, applied, fenced: null, heads: {}, address: { ...links.address, fronts: [] } },
    pieces: 0,
  };
  links.on('copy', async (question) => {
    const answer = await giver.answer(question);
    if (!('bytes' in answer)) return answer;
    if (++state.pieces > endsAfter) links.close();
    return held(answer, state.pieces);
  });
  return state;
}

/** Takes a copy from one of them into a folder, and resolves to that. */
async function taken(
  t: TestContext,
  givers: readonly Giver[],
  waitMs: number,
  path = tempDirectory(),
): Promise<string> {
  const timers: NodeJS.Timeout[] = [];
  t.after(() => timers.forEach(clearInterval));
  const onTold: LogStream['onTold'] = (_, take) =>
    void timers.push(setInterval(() => givers.forEach(({ told }) => take(told)), 100));
  await takeCopy({ stream: { onTold } as LogStream, node: 'taker', path, shards: 1, waitMs, log: SILENT });
  return path;
}

const read = (path: string, name: string): Buffer => readFileSync(join(path, name, 'data.mdb'));

test('a giver that ends in the middle is left for another one, whose copy is taken whole', async (t) => {
  const first = await giverOf(t, 'a', Buffer.alloc(3_000_000, 4), { applied: 20, endsAfter: 2 });
  const second = await giverOf(t, 'b', CATALOG);
  const path = await taken(t, [first, second], 3000);
  assert.ok(first.pieces > 2, 'the first giver was not asked');
  assert.ok(read(path, 'catalog').equals(CATALOG));
  assert.equal(read(path, SHARD).toString(), 'b');
  assert.ok(!existsSync(join(path, 'copy')));
});

test('pieces that are sent in another order than they were asked for are where they belong', async (t) => {
  const content = randomBytes(20_000_000);
  // One piece in five is sent when many others have been.
  const giver = await giverOf(t, 'a', content, {
    held: async (piece, number) => {
      if (number % 5 === 1) await sleep(200);
      return piece;
    },
  });
  assert.ok(read(await taken(t, [giver], 3000), 'catalog').equals(content));
  // None was asked for again; the other file has one.
  assert.equal(giver.pieces, Math.ceil(content.length / PIECE_BYTES) + 1);
});

test('a piece that is not what was asked for is asked for again', async (t) => {
  const content = randomBytes(3_000_000);
  let first: Uint8Array | undefined;
  const giver = await giverOf(t, 'a', content, {
    held: async ({ bytes, sent }, number) => {
      first ??= Buffer.from(bytes);
      if (number === 2) return { bytes: first, sent };
      if (number === 3) bytes[1000]! ^= 1;
      return { bytes, sent };
    },
  });
  assert.ok(read(await taken(t, [giver], 3000), 'catalog').equals(content));
  assert.ok(giver.pieces > Math.ceil(content.length / PIECE_BYTES) + 1, `${giver.pieces} pieces`);
});

test('takers that come at once get a copy one after the other, however short they look for a giver', async (t) => {
  const giver = await giverOf(t, 'a', CATALOG, { copyMs: 2500 });
  const paths = await Promise.all([taken(t, [giver], 1200), taken(t, [giver], 1200), taken(t, [giver], 1200)]);
  for (const path of paths) assert.ok(read(path, 'catalog').equals(CATALOG));
});

test('without a giver that goes on there is no copy, and the data that is there stays', async (t) => {
  const giver = await giverOf(t, 'a', CATALOG, { endsAfter: 1 });
  const path = tempDirectory();
  mkdirSync(join(path, 'catalog'));
  writeFileSync(join(path, 'catalog', 'data.mdb'), 'own');
  await assert.rejects(taken(t, [giver], 1500, path), NoCopy);
  assert.ok(giver.pieces > 1, 'the giver was not asked');
  assert.equal(read(path, 'catalog').toString(), 'own');
});
