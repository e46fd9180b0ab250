// The archive writer keeps no part of an archive in memory once the consumer of its output has taken it.
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ArchiveWriter } from '../../../src/archive/writer.js';

const MB = 2 ** 20;

async function heldBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  for (let round = 0; round < 3; round++) {
    await turn();
    collectGarbage();
  }
  return process.memoryUsage().arrayBuffers;
}

test('entries that have been read are released from memory', async () => {
  const writer = new ArchiveWriter(new Date());
  let takenBytes = 0;
  const take = (piece: Buffer, _: string, next: () => void): void => {
    takenBytes += piece.length;
    setImmediate(next);
  };
  const taken = pipeline(writer.output, new Writable({ write: take }));
  const before = await heldBytes();
  for (let n = 0; n < 40; n++) await writer.add(`entry-${n}`, Buffer.alloc(4 * MB, n));
  assert.ok((await heldBytes()) - before < 24 * MB, `${((await heldBytes()) - before) / MB} MiB`);
  writer.end();
  await taken;
  assert.ok(takenBytes > 160 * MB);
});
