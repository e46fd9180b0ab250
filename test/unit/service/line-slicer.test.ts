// Lines of a stream: the same however the stream is cut into pieces, blank lines left out, and too long lines reported
// without being buffered.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { LineSlicer } from '../../../src/service/ingest/ndjson.js';
import { textsOfLines } from '../../../src/extract/batch-body.js';

const LIMIT = 40;

function taken(slicer: LineSlicer): string[] {
  const found: string[] = [];
  for (let slice = slicer.take(); slice; slice = slicer.take()) {
    if ('clientError' in slice) {
      assert.equal(slice.clientError.code, 'request_too_large');
      found.push('too long');
      continue;
    }
    assert.ok('bytes' in slice);
    const texts = textsOfLines(slice.bytes) as string[];
    assert.equal(texts.length, slice.lines);
    found.push(...texts);
  }
  return found;
}

const expected = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => /[^ \t\r]/.test(line) || line.length > LIMIT)
    .map((line) => (line.length > LIMIT ? 'too long' : line));

test('pieces of any size give the same lines', () => {
  const seed = 8;
  const prng = createPrng(seed);
  for (let round = 0; round < 300; round++) {
    const lines = Array.from(
      { length: prng.int(40) },
      () =>
        [
          '',
          ' \r',
          '{"a":1}',
          'x'.repeat(prng.int(30)),
          'y'.repeat(LIMIT - 2 + prng.int(5)),
          'z'.repeat(prng.int(9) * 28),
        ][prng.int(6)],
    );
    const text = lines.join('\n') + (prng.int(2) === 0 ? '\n' : '');
    const slicer = new LineSlicer(LIMIT);
    const found: string[] = [];
    for (let at = 0; at < text.length; ) {
      const size = 1 + prng.int(prng.int(2) === 0 ? 5 : 200);
      slicer.add(Buffer.from(text.slice(at, at + size)));
      at += size;
      if (prng.int(2) === 0) found.push(...taken(slicer));
    }
    slicer.end();
    assert.deepEqual([...found, ...taken(slicer)], expected(text), `seed ${seed}, round ${round}`);
  }
});

test('a line is taken as soon as it is whole', () => {
  const slicer = new LineSlicer(LIMIT);
  slicer.add(Buffer.from('{"a":'));
  assert.equal(slicer.take(), undefined);
  slicer.add(Buffer.from('1}\n{"b"'));
  assert.deepEqual(taken(slicer), ['{"a":1}']);
});

test('a line without an end is not held beyond the limit, and does not fill the slicer', () => {
  const slicer = new LineSlicer(LIMIT);
  for (let i = 0; i < 100; i++) {
    slicer.add(Buffer.alloc(LIMIT, 0x61));
    assert.equal(slicer.isFull, false);
  }
  slicer.add(Buffer.from('\nnext\n'));
  assert.deepEqual(taken(slicer), ['too long', 'next']);
});

test('the slicer is full when a slice waits, and not before', () => {
  const slicer = new LineSlicer(1024 * 1024);
  slicer.add(Buffer.alloc(300 * 1024, 0x61));
  assert.equal(slicer.isFull, false);
  slicer.add(Buffer.from('\n'));
  assert.equal(slicer.isFull, true);
  slicer.take();
  assert.equal(slicer.isFull, false);
});

test('a line of megabytes is put together in turns, behind the short ones before it', async () => {
  const slicer = new LineSlicer(8 * 1024 * 1024);
  slicer.add(Buffer.from('first\n\n'));
  for (let i = 0; i < 5; i++) slicer.add(Buffer.alloc(600_000, 0x61 + i));
  slicer.add(Buffer.from('\nlast'));
  const slice = slicer.take();
  assert.ok(slice && 'joined' in slice);
  assert.deepEqual([slice.lines, slice.bytesLength], [2, 3_000_005]);
  const long = Array.from({ length: 5 }, (_, i) => String.fromCharCode(0x61 + i).repeat(600_000)).join('');
  assert.deepEqual(textsOfLines((await slice.joined()).bytes), ['first', long]);
  slicer.end();
  assert.deepEqual(taken(slicer), ['last']);
});
