// A batch body that is cut into items, compared with JSON.parse: good bodies give the same items, bad ones are
// recognized.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import { sliceItems, splitBatch, textsOfLines } from '../../../src/extract/batch-body.js';

type Read = { documents: unknown[]; others: object } | 'bad';

/** The body as the server reads it: cut, sliced, and each line parsed. */
function read(body: string | Uint8Array): Read {
  try {
    const { skeleton, items } = splitBatch(Buffer.from(body), 'documents');
    const { documents, ...others } = skeleton as { documents: unknown };
    const lines = sliceItems(items).flatMap(({ bytes, lines: count }) => {
      const texts = textsOfLines(bytes);
      assert.equal(texts.length, count);
      return texts;
    });
    return Array.isArray(documents)
      ? { documents: lines.map((line) => JSON.parse(line as string) as unknown), others }
      : { documents: [], others: { documents, ...others } };
  } catch (error) {
    assert.ok(error instanceof SyntaxError || error instanceof TypeError, String(error));
    return 'bad';
  }
}

/** The naive version: the body as JSON.parse reads it. */
function parsed(body: string): Read {
  try {
    const { documents, ...others } = JSON.parse(body) as { documents: unknown };
    return Array.isArray(documents) ? { documents, others } : { documents: [], others: { documents, ...others } };
  } catch (error) {
    assert.ok(error instanceof SyntaxError || error instanceof TypeError, String(error));
    return 'bad';
  }
}

const WORDS = ['', 'a', '"', '\\', '\\"', ']', '}', ',', '{', '[', 'é', '\u{1f600}', '\n', 'documents', '\u0000', ':'];

function value(prng: Prng, depth: number): unknown {
  const kind = prng.int(depth > 3 ? 4 : 6);
  if (kind === 0) return prng.int(1000) / 8 - 3;
  if (kind === 1) return [null, true, false][prng.int(3)];
  if (kind < 4) return Array.from({ length: prng.int(4) }, () => WORDS[prng.int(WORDS.length)]).join('');
  const members = Array.from({ length: prng.int(4) }, () => value(prng, depth + 1));
  return kind === 4
    ? members
    : Object.fromEntries(members.map((member, i) => [`${WORDS[prng.int(WORDS.length)]}${i}`, member]));
}

test('good bodies, however written, give the items that JSON.parse gives', () => {
  const seed = 21;
  const prng = createPrng(seed);
  for (let round = 0; round < 2000; round++) {
    const documents = Array.from({ length: prng.int(6) }, () => value(prng, 0));
    const fields: [string, unknown][] = [
      ['documents', documents],
      ...(prng.int(3) === 0 ? ([['x', value(prng, 1)]] as [string, unknown][]) : []),
    ];
    const body = JSON.stringify(Object.fromEntries(prng.int(2) === 0 ? fields : fields.reverse()), null, prng.int(3));
    assert.deepEqual(read(body), parsed(body), `seed ${seed}, round ${round}: ${body}`);
  }
});

test('bodies with a byte changed, left out or doubled are good or bad as JSON.parse finds them', () => {
  const seed = 22;
  const prng = createPrng(seed);
  for (let round = 0; round < 6000; round++) {
    const whole = JSON.stringify(
      { documents: Array.from({ length: 1 + prng.int(3) }, () => value(prng, 1)) },
      null,
      prng.int(2),
    );
    const at = prng.int(whole.length);
    const other = '[]{},:"\\ \n0a'[prng.int(12)] as string;
    const changed = whole.slice(0, at) + [other, '', `${whole[at]}${whole[at]}`][prng.int(3)] + whole.slice(at + 1);
    // Half a character is not UTF-8: it becomes the replacement character.
    const body = Buffer.from(changed).toString();
    assert.deepEqual(read(body), parsed(body), `seed ${seed}, round ${round}: ${body}`);
  }
});

test('the last of several lists is the one, as JSON has it', () => {
  for (const body of [
    '{"documents":[1],"documents":[2,3]}',
    '{"documents":[1],"documents":5}',
    '{"documents":5,"documents":[1]}',
    '{"x":{"documents":[1]},"documents":[2]}',
    '{"x":"documents","y":[1],"documents":[]}',
  ]) {
    assert.deepEqual(read(body), parsed(body), body);
  }
});

test('bytes that are no UTF-8 are bad around the items, and known inside them', () => {
  assert.equal(read(Buffer.from('7b22ff223a312c22646f63756d656e7473223a5b5d7d', 'hex')), 'bad');
  const { items } = splitBatch(Buffer.from('{"documents":["a","\xff","b"]}', 'latin1'), 'documents');
  assert.deepEqual(textsOfLines(sliceItems(items)[0]?.bytes as Uint8Array), ['"a"', undefined, '"b"']);
});

test('slices are bounded in lines and bytes, and lose nothing', () => {
  const items = Array.from({ length: 3000 }, (_, i) =>
    Buffer.from(JSON.stringify({ i, text: 'x'.repeat((i * 7919) % 4000) })),
  );
  const slices = sliceItems([...items, Buffer.alloc(1_000_000, 0x20)]);
  assert.ok(slices.every(({ lines, bytes }) => lines <= 256 && (lines === 1 || bytes.length <= 256 * 1024 + 256)));
  assert.equal(
    slices.reduce((sum, { lines }) => sum + lines, 0),
    3001,
  );
  const texts = slices.flatMap(({ bytes }) => textsOfLines(bytes));
  assert.deepEqual(
    texts.map((text) => (JSON.parse(text as string) as { i: number }).i),
    items.map((_, i) => i),
  );
});
