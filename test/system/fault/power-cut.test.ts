// The fault layer's power cuts: what was synced is there after each of them, and where nothing is synced, data is
// missing. So a server that loses nothing in a power cut proves something.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPrng } from '../../../src/base/prng.js';
import { Disk, DiskFile, readJournal } from '../../../load/fault/power-cut.js';
import { compileShim, faultEnvironment } from '../../../load/fault/fault-layer.js';
import { Checksum } from '../../../src/storage/damage.js';
import { PageScan } from '../../../src/storage/lmdb-file.js';
import { tempDirectory } from '../../kit/temp.js';

const shim = compileShim();
const skip = shim === undefined ? 'there is no C compiler' : false;
const CUTS = 30;
const lmdb = new URL('../../../src/storage/lmdb.js', import.meta.url).href;

/** A program that commits one number after the other, with some bulk, and prints each when it is committed. */
const WRITER = `
  const { Environment } = await import(${JSON.stringify(lmdb)});
  const env = Environment.open(process.argv[1] + '/shard-0', ['t'], false);
  for (let n = 1; ; n++) {
    env.write(({ t }) => {
      for (let i = 0; i < 20; i++) t.put(Buffer.from('filler' + (n * 7 + i) % 300), Buffer.alloc(700, n));
      const value = Buffer.alloc(4);
      value.writeUInt32BE(n);
      t.put(Buffer.from('n'), value);
    });
    process.stdout.write(n + '\\n');
  }`;

/** A directory with the journal of a writer that was killed, and the last commit that it printed. */
async function killedWriter(): Promise<{ data: string; journal: string; told: number }> {
  const folder = tempDirectory();
  const [data, journal] = [join(folder, 'data'), join(folder, 'journal')];
  mkdirSync(data);
  const env = { PATH: process.env.PATH, ...faultEnvironment(shim as string, { root: data, journal }) };
  const writer = spawn(process.execPath, ['--input-type=module', '-e', WRITER, data], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let told = 0;
  writer.stdout.on('data', (piece: Buffer) => (told = Number(piece.toString().trim().split('\n').at(-1))));
  while (told < 20) await sleep(5);
  writer.kill('SIGKILL');
  await once(writer, 'close');
  return { data, journal, told };
}

/** The number that is found after a power cut; undefined where anything is damaged. */
function numberIn(directory: string): number | undefined {
  const checksum = new Checksum('shard-0', 't');
  let found: number | undefined;
  for (const entry of PageScan.over(join(directory, 'shard-0', 'data.mdb'))) {
    const value = 'damage' in entry ? undefined : checksum.valueIn(entry.key, entry.sealed);
    if ('damage' in entry || !value) return undefined;
    if (entry.key.toString() === 'n') found = value.readUInt32BE();
  }
  return found;
}

async function afterCuts(heedsSyncs: boolean): Promise<{ found: (number | undefined)[]; told: number }> {
  const { data, journal, told } = await killedWriter();
  const found = Array.from({ length: CUTS }, (_, seed) => {
    const [before, left] = [tempDirectory(), join(tempDirectory(), 'left')];
    const disk = new Disk(before, data);
    disk.replay(journal, ({ op }) => heedsSyncs || op !== 'sync');
    disk.cutTo(left, createPrng(seed));
    try {
      return numberIn(left);
    } catch {
      return undefined;
    }
  });
  return { found, told };
}

/**
 * A program that syncs a directory, closes it, and writes to a socket, which gets the file descriptor that the
 * directory had.
 */
const SYNC_AND_TALK = `
  const { openSync, fsyncSync, closeSync } = await import('node:fs');
  const { connect, createServer } = await import('node:net');
  const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1', () => {
    const numbers = Array.from({ length: 40 }, () => openSync(process.argv[1], 'r'));
    for (const number of numbers) fsyncSync(number);
    for (const number of numbers) closeSync(number);
    const socket = connect(server.address().port, '127.0.0.1', () => socket.end('not for the disk', () => process.exit(0)));
  });`;

test('what is written to a socket is no write to the directory that had its number', { skip }, async () => {
  const folder = tempDirectory();
  const [data, journal] = [join(folder, 'data'), join(folder, 'journal')];
  mkdirSync(data);
  const env = { PATH: process.env.PATH, ...faultEnvironment(shim as string, { root: data, journal }) };
  await once(
    spawn(process.execPath, ['--input-type=module', '-e', SYNC_AND_TALK, data], { env, stdio: 'inherit' }),
    'close',
  );
  const ops = Array.from(readJournal(journal), ({ op }) => op);
  assert.deepEqual([ops.filter((op) => op === 'sync').length, ops.includes('write')], [40, false]);
});

test('what was committed is there after every cut, whole', { skip }, async () => {
  const { found, told } = await afterCuts(true);
  for (const [seed, number] of found.entries())
    assert.ok(
      number !== undefined && (number === told || number === told + 1),
      `seed ${seed}: told ${told}, found ${number}`,
    );
});

test('a disk that heeds no sync loses commits, or leaves damage: a cut would show it', { skip }, async () => {
  const { found, told } = await afterCuts(false);
  assert.ok(
    found.some((number) => number === undefined || number < told),
    `told ${told}, found ${found.join()}`,
  );
});

test('a file keeps what was synced, and any subset of the pieces of what was not', () => {
  const prng = createPrng(3);
  for (const mode of ['none', 'all', 'writes', 'pages', 'sectors'] as const) {
    const file = new DiskFile();
    file.write(0, Buffer.alloc(8192, 1));
    file.sync();
    file.write(4096, Buffer.alloc(8192, 2));
    file.writeDurably(100, Buffer.alloc(8, 3));
    const found = file.cut(prng, mode);
    assert.equal(found.subarray(100, 108).equals(Buffer.alloc(8, 3)), true);
    assert.equal(
      found.subarray(108, 4096).every((byte) => byte === 1),
      true,
    );
    for (let at = 4096; at < found.length; at += 512)
      assert.equal(new Set(found.subarray(at, at + 512)).size, 1, `${mode}: a sector is torn within`);
    assert.equal(found.length, ({ none: 8192, all: 12_288 } as Record<string, number>)[mode] ?? found.length);
  }
});

test('after a sync that failed, what was not written is lost for good', () => {
  const file = new DiskFile();
  file.write(0, Buffer.alloc(4096, 1));
  file.forget();
  file.sync();
  assert.equal(file.cut(createPrng(1), 'all').length, 0);
});
