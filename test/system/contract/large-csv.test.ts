// Ingests of tables with tens of thousands of rows over a real socket.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileForm, startTestServer } from '../../kit/server.js';

const { call, faults } = await startTestServer({}, { textBytesMax: 16 * 2 ** 20 });
const base = '/v1/collections/acme/files';
const CITIES = '../shared/data/files/csv/world-cities.csv';

test('100,000 rows of CSV are read within the limits', async () => {
  const rows = Array.from({ length: 100_000 }, (_, i) => `${i},name ${i}`).join('\n');
  const form = fileForm('large.csv', `id,name\n${rows}`);
  const answer = await call('POST', `${base}/documents?csv_has_header=yes&csv_include_cols=name`, form);
  assert.deepEqual([answer.status, answer.json.chunks], [201, 100_000], JSON.stringify(answer.json));
  const { text } = await call('GET', `${base}/chunks/${encodeURIComponent('LARGE_CSV::row_99999')}/content`);
  assert.equal(text, 'name: name 99999');
});

test('csv/world-cities.csv is text', { skip: existsSync(CITIES) ? false : `${CITIES} is not there` }, async () => {
  const form = fileForm('world-cities.csv', readFileSync(CITIES));
  const { status, json } = await call('POST', `${base}/documents`, form);
  assert.equal(status, 201, JSON.stringify(json));
});

test('no internal error was logged', () => {
  assert.deepEqual(faults, []);
});
