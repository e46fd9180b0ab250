// `sheaf top` against a real server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInProcess } from '../../kit/cli.js';
import { startTestServer } from '../../kit/server.js';

test('it shows what the server does, as often as asked for', async () => {
  const server = await startTestServer();
  await server.call('POST', '/v1/collections/acme/docs/documents', { docid: 'nemo', text: 'Captain Nemo.' });
  const searching = setInterval(() => void server.call('GET', '/v1/collections/acme/docs/search?q=captain'), 20);
  try {
    const { code, stdout } = await runInProcess(['top', '--url', server.url, '--count', '2', '--interval', '0.4']);
    assert.equal(code, 0);
    assert.equal(stdout.match(/^Sheaf 0\.\S+, up \d+ min; CPU \d+ % of a core/gm)?.length, 2);
    assert.match(stdout, /1 collections, 1 documents, 1 chunks/);
    assert.match(stdout, /^searches +[1-9]\d* +\d/m);
    assert.match(stdout, /^search +\d+ +\d+ %/m);
  } finally {
    clearInterval(searching);
  }
  const { code, stderr } = await runInProcess(['top', '--url', server.url, '--interval', '0']);
  assert.equal(code, 2);
  assert.match(stderr, /interval/);
});
