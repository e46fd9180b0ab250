// Errors that the existing server of this API is known to make: numbers that are not finite, empty texts, metadata that
// comes back changed. (rules-auth covers a wrong key before the body, rules-transport Retry-After under load, leaks
// leaks.)
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileForm, startTestServer } from '../../kit/server.js';

const { call, faults } = await startTestServer();
const base = '/v1/collections/rules';
const vectors = `${base}/vectors`;
await call('POST', vectors, { embedder_type: 'identity', embedder_config: { dim: 2 } });
await call('POST', `${vectors}/documents`, { docid: 'V', vector: [1, 0] });

/** JSON has no NaN and no infinity; numbers beyond the range of a float become the infinities. */
const NO_VECTORS = [
  '[0,0]',
  '[-0,0.0]',
  '[1e999,1]',
  '[-1e999,1]',
  '[1e39,1]',
  '[1,-3.5e38]',
  '[1e-320,0]',
  '[null,1]',
  '["1",1]',
  '[true,1]',
  '[[1],1]',
];
const NO_JSON = ['[NaN,1]', '[Infinity,1]', '[-Infinity,1]', '[1,]', '[.5,1]', '[0x10,1]'];

test('a zero, infinite or overflowing vector is refused, in a document', async () => {
  for (const vector of NO_VECTORS) {
    const { status, text } = await call('POST', `${vectors}/documents`, `{"docid":"V","vector":${vector}}`);
    assert.ok(status === 422 || status === 400, `${vector}: ${status} ${text}`);
  }
  assert.equal((await call('GET', `${vectors}/documents/V`)).json.version, 1);
});

test('zero and infinite vectors are 422, in documents and searches', async () => {
  for (const vector of ['[0,0]', '[1e999,1]', '[1e39,1]']) {
    assert.equal((await call('POST', `${vectors}/documents`, `{"vector":${vector}}`)).status, 422, vector);
    assert.equal((await call('POST', `${vectors}/search`, `{"v":${vector}}`)).status, 422, vector);
  }
});

test('a zero, infinite or overflowing vector is refused, in a search', async () => {
  for (const vector of NO_VECTORS) {
    const { status, text } = await call('POST', `${vectors}/search`, `{"v":${vector}}`);
    assert.equal(status, 422, `${vector}: ${text}`);
  }
});

test('a zero, infinite or overflowing vector fails its item of a batch and no other', async () => {
  const items = NO_VECTORS.map((vector) => `{"vector":${vector}}`);
  const { status, json } = await call(
    'POST',
    `${vectors}/documents:batch`,
    `{"documents":[${[...items, '{"docid":"GOOD","vector":[0,1]}'].join(',')}]}`,
  );
  assert.deepEqual([status, json.failed, json.succeeded], [201, NO_VECTORS.length, 1], JSON.stringify(json));
});

test('NaN and Infinity, which are no JSON, are refused as malformed, and the stored vector stays', async () => {
  for (const vector of NO_JSON) {
    for (const [path, body] of [
      ['documents', `{"docid":"V","vector":${vector}}`],
      ['search', `{"v":${vector}}`],
      ['documents:batch', `{"documents":[{"vector":${vector}}]}`],
    ] as const) {
      const { status } = await call('POST', `${vectors}/${path}`, body);
      assert.ok(status === 400 || status === 422, `${path} ${vector}: ${status}`);
    }
  }
  assert.equal((await call('GET', `${vectors}/documents/V`)).json.version, 1);
});

const BLANK = ['', ' ', '\n\t\r\n', '\u00a0\u2003\u3000', '\ufeff', '\u2028\u2029'];

test('a blank text makes no chunk: 400 no_text_extracted, by JSON, by file and in a batch', async () => {
  for (const text of BLANK) {
    assert.equal(
      (await call('POST', `${base}/blank/documents`, { text })).json.code,
      'no_text_extracted',
      JSON.stringify(text),
    );
    assert.equal(
      (await call('POST', `${base}/blank/documents`, fileForm('blank.txt', text))).json.code,
      'no_text_extracted',
      JSON.stringify(text),
    );
    assert.equal(
      (await call('POST', `${base}/blank/documents:batch`, { documents: [{ text }] })).json.documents[0].code,
      'no_text_extracted',
      JSON.stringify(text),
    );
  }
  assert.equal((await call('GET', `${base}/blank/documents`)).json.count, 0);
});

test('a stretch of blanks inside a text makes no chunk of its own', async () => {
  await call('POST', `${base}/gaps/documents`, { docid: 'GAP', text: `begin${' '.repeat(5000)}end` });
  const { json } = await call('GET', `${base}/gaps/documents/GAP/chunks`);
  assert.ok(json.count >= 2);
  for (const { rid } of json.chunks)
    assert.notEqual((await call('GET', `${base}/gaps/chunks/${rid}/content`)).text.trim(), '', rid);
});

/** Written as raw JSON, since JSON.stringify changes some keys and numbers. */
const METADATA = [
  `{"quote":"O'Brien -- x; y","drop":"'; DROP TABLE chunks; --","like":"100%_"}`,
  '{"__proto__":{"polluted":true},"constructor":"c","toString":"t","hasOwnProperty":1}',
  '{"":"empty key"," ":"blank key","a.b":1,"$eq":{"$in":[1]},"key with \\"quotes\\" \\\\":2}',
  '{"nul":"a\\u0000b","line":"a\\u2028b\\nc","emoji":"😀","decomposed":"e\\u0301","composed":"é","rtl":"\\u202eabc","lang":"日本語 עברית"}',
  '{"largest":9007199254740991,"smallest":-9007199254740991,"fraction":0.1,"tiny":5e-324,"huge":1.7976931348623157e308,"zero":0}',
  '{"true":true,"null":null,"list":[1,"2",[3,{}],null],"deep":{"a":{"b":{"c":[{}]}}},"blank":"  kept  "}',
  '{"10":"ten","9":"nine","b":1,"a":2}',
];

test('metadata comes back as it was given, in the document, its chunks and a hit', async () => {
  for (const [i, metadata] of METADATA.entries()) {
    assert.equal(
      (await call('POST', `${base}/meta/documents`, `{"docid":"M${i}","text":"metadata ${i}","metadata":${metadata}}`))
        .status,
      201,
      metadata,
    );
    const given = JSON.parse(metadata) as Record<string, unknown>;
    const { json: document } = await call('GET', `${base}/meta/documents/M${i}`);
    const { json: chunk } = await call('GET', `${base}/meta/chunks/M${i}::chunk_0`);
    const { json: found } = await call('POST', `${base}/meta/search`, { q: `metadata ${i}`, k: 20 });
    const hit = found.matches.find(({ id }: { id: string }) => id === `M${i}::chunk_0`);
    for (const stored of [document.metadata, chunk.meta, hit.meta]) {
      for (const [key, value] of Object.entries(given))
        assert.deepEqual(Object.getOwnPropertyDescriptor(stored, key)?.value, value, `${key} of ${metadata}`);
    }
    assert.deepEqual(Object.keys(document.metadata).sort(), [...Object.keys(given), 'docid', 'ingested_at'].sort());
  }
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
});

test('metadata that a file brings along as a form field comes back as it was given', async () => {
  for (const [i, metadata] of METADATA.entries()) {
    await call('POST', `${base}/meta/documents`, fileForm(`form-${i}.txt`, 'by form', { docid: `F${i}`, metadata }));
    const {
      docid: _docid,
      ingested_at: _at,
      filename: _filename,
      ...own
    } = (await call('GET', `${base}/meta/documents/F${i}`)).json.metadata;
    assert.deepEqual(own, JSON.parse(metadata));
  }
});

test('none of this was logged as an internal error', () => assert.deepEqual(faults, []));
