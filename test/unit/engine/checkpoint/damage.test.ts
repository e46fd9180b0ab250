// Every way in which a checkpoint can be unusable: the note names it, the checkpoint is removed, and everything is
// loaded from the store.
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { createPrng } from '../../../../src/base/prng.js';
import { HEADER_BYTES, REGION_BYTES } from '../../../../src/storage/checkpoint-files.js';
import { tempDirectory } from '../../../kit/temp.js';
import { refOf, World } from '../../../kit/engine/checkpoint-world.js';

const REF = refOf(1, 256);
const DOCUMENTS = 600;
const MANIFEST = 'manifest.json';

const original = new World(createPrng(1), [REF]);
for (let from = 0; from < DOCUMENTS; from += 200)
  original.write(Array.from({ length: 200 }, (_, i) => original.put(REF, `D${from + i}`)));
original.indexTerms(REF);
assert.ok(await original.checkpoint());
original.churn(REF, 30, DOCUMENTS);

/** A checkpoint of more than two regions, with writes after it. */
function written(): { world: World; image: string; manifest: string } {
  const world = original.copy(createPrng(2));
  const file = readdirSync(world.files.directory).find((name) => name.endsWith('.image'));
  assert.ok(file);
  return { world, image: world.files.pathOf(file), manifest: world.files.pathOf(MANIFEST) };
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] as number) ^ 0x10;
  writeFileSync(path, bytes);
}

function changeManifest(path: string, change: (manifest: Record<string, unknown>) => void): void {
  const manifest = JSON.parse(readFileSync(path, 'utf8').split('\n')[1] as string) as Record<string, unknown>;
  change(manifest);
  const text = JSON.stringify(manifest);
  writeFileSync(path, `${crc32(text).toString(16).padStart(8, '0')}\n${text}\n`);
}

type Damage = (files: { world: World; image: string; manifest: string }) => void;

const DAMAGES: readonly (readonly [string, Damage, RegExp])[] = [
  ['a flipped bit in the checksum of the header', ({ image }) => flip(image, 1), /checksum of the header/],
  ['a flipped bit in the magic number', ({ image }) => flip(image, 5), /checksum of the header/],
  ['a flipped bit in the name of the checkpoint', ({ image }) => flip(image, 40), /checksum of the header/],
  ['a flipped bit in the table of checksums', ({ image }) => flip(image, 66), /checksum of the header/],
  ['a flipped bit in the rest of the header', ({ image }) => flip(image, HEADER_BYTES - 1), /checksum of the header/],
  ['a flipped bit in the header of the arena', ({ image }) => flip(image, HEADER_BYTES + 84), /region 0/],
  ['a flipped bit in the table of readers', ({ image }) => flip(image, HEADER_BYTES + 1024), /region 0/],
  ['a flipped bit behind the header of the arena', ({ image }) => flip(image, HEADER_BYTES + 9000), /region 0/],
  ['a flipped bit in rows', ({ image }) => flip(image, HEADER_BYTES + REGION_BYTES + 12_345), /region 1/],
  [
    'a flipped bit in the last byte',
    ({ image }) => flip(image, readFileSync(image).length - 1),
    /wrong checksum of region/,
  ],
  ['an image that was cut', ({ image }) => truncateSync(image, HEADER_BYTES + REGION_BYTES + 5), /truncated/],
  ['an image that was cut in its header', ({ image }) => truncateSync(image, 100), /truncated/],
  ['an empty image', ({ image }) => truncateSync(image, 0), /truncated/],
  ['an image that is missing', ({ image }) => rmSync(image), /ENOENT/],
  ['an image that is a directory', ({ image }) => (rmSync(image), mkdirSync(image)), /EISDIR/],
  [
    'an image of another checkpoint',
    ({ manifest }) => changeManifest(manifest, (found) => (found.id = '0'.repeat(32))),
    /belongs to another checkpoint/,
  ],
  [
    'a flipped bit in the checksum of the manifest',
    ({ manifest }) => flip(manifest, 3),
    /manifest.json: wrong checksum/,
  ],
  ['a flipped bit in the manifest', ({ manifest }) => flip(manifest, 100), /manifest.json: wrong checksum/],
  [
    'a flipped bit in the last byte of the manifest',
    ({ manifest }) => flip(manifest, readFileSync(manifest).length - 1),
    /manifest.json: wrong checksum/,
  ],
  ['a manifest that was cut', ({ manifest }) => truncateSync(manifest, 5), /manifest.json: wrong checksum/],
  [
    'a manifest of another version',
    ({ manifest }) => changeManifest(manifest, (found) => (found.version = 99)),
    /another version/,
  ],
  [
    'a manifest of another shard',
    ({ manifest }) => changeManifest(manifest, (found) => (found.shard = 3)),
    /belongs to shard 3/,
  ],
  [
    'a manifest of another kernel',
    ({ manifest }) => changeManifest(manifest, (found) => (found.kernel = 'another')),
    /another version of the server/,
  ],
  [
    'a checkpoint that is newer than the store',
    ({ manifest }) => changeManifest(manifest, (found) => (found.number = 1e6)),
    /does not continue from it/,
  ],
  [
    'a checkpoint of another data directory',
    ({ manifest }) => changeManifest(manifest, (found) => (found.log = 'f'.repeat(32))),
    /does not continue from it/,
  ],
  ['a log of changes that ended', ({ world }) => world.store.changes.end(), /does not continue from it/],
];

for (const [name, damage, told] of DAMAGES) {
  test(`${name} is noticed, and all is loaded from the store`, async () => {
    const files = written();
    damage(files);
    const { world } = files;
    world.restart();
    assert.equal(world.notes.length, 1);
    assert.match(world.notes[0] as string, told);
    assert.deepEqual(readdirSync(world.files.directory), [], 'what is of no use is removed');
    world.check(name);
  });
}

test('the checkpoint after an unusable one is good', async () => {
  const { world, image } = written();
  flip(image, HEADER_BYTES + 9000);
  world.restart();
  while (!world.shard.loads.work(Infinity, false));
  assert.ok(await world.checkpoint());
  world.churn(REF, 10, DOCUMENTS);
  world.restart();
  assert.deepEqual(world.notes, []);
  world.check('after the next one');
});

test('of a checkpoint from before metadata had cells of points, all but the metadata indexes is used', async () => {
  const { world, manifest } = written();
  changeManifest(manifest, (found) => (found.kernel = 'layout 3, terms 1, 8 arenas, schema 1'));
  world.restart();
  assert.deepEqual(world.notes, []);
  world.check('without metadata indexes');
  const segments = world.shard.segments.of(REF.id);
  assert.ok(segments.length > 0 && segments.every(({ textIndex, fields }) => textIndex?.complete && !fields));
  world.indexTerms(REF);
  world.check('with new ones');
});

test('files without a manifest are no checkpoint, and are removed', async () => {
  const { world, manifest } = written();
  rmSync(manifest);
  world.restart();
  assert.deepEqual([world.notes, readdirSync(world.files.directory)], [[], []]);
  world.check('without');
});

test('an older checkpoint that was put back is noticed when the log has been trimmed behind it', async () => {
  const { world } = written();
  const kept = tempDirectory();
  cpSync(world.files.directory, kept, { recursive: true });
  assert.ok(await world.checkpoint());
  for (let i = 0; i < 20; i++) world.churn(REF, 2, DOCUMENTS);
  rmSync(world.files.directory, { recursive: true });
  renameSync(kept, world.files.directory);
  world.restart();
  assert.match(world.notes[0] ?? '', /some after \d+ are missing/);
  world.check('from the store');
});

test('what an interrupted checkpoint has left is removed at the next start', async () => {
  const { world } = written();
  writeFileSync(world.files.pathOf('arena-0-12345678.image'), 'half');
  writeFileSync(world.files.pathOf(`${MANIFEST}.tmp`), 'half');
  world.restart();
  assert.deepEqual(world.notes, []);
  assert.ok(
    !existsSync(world.files.pathOf('arena-0-12345678.image')) && !existsSync(world.files.pathOf(`${MANIFEST}.tmp`)),
  );
  world.check('with the good one');
});

test('a disk that is full while a checkpoint is written leaves the one before', async () => {
  const { world } = written();
  // A file where the directory of images belongs: like on a full disk, the image cannot be created.
  const directory = world.files.directory;
  renameSync(directory, `${directory}-away`);
  writeFileSync(directory, '');
  await assert.rejects(world.checkpoint());
  rmSync(directory);
  renameSync(`${directory}-away`, directory);
  world.churn(REF, 10, DOCUMENTS);
  world.restart();
  assert.deepEqual(world.notes, []);
  world.check('with the one before');
});

test('a server without checkpoints leaves none that a later one could take for its own', async () => {
  const { world } = written();
  world.restartWithout();
  world.churn(REF, 30, DOCUMENTS);
  world.restart();
  assert.deepEqual(world.notes, []);
  world.check('from the store');
  assert.ok(!existsSync(join(world.files.directory, MANIFEST)));
});
