// A real Prometheus scrapes a busy server: its rules are evaluated without errors, none of its alerts fires, and every
// query of the dashboard has data.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startOpenAiServer } from '../../kit/openai-server.js';
import { dashboardQueries, metricsIn, PROMETHEUS, startPrometheus } from '../../kit/prometheus.js';
import { startTestServer, type TestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const SCRAPE_MS = 250;
const KEY = 'boss';
const docs = '/v1/collections/acme/docs';

async function startServer(t: TestContext): Promise<TestServer> {
  const endpoint = await startOpenAiServer(t, { dim: 8 });
  const settings = {
    SHEAF_AUTH__MODE: 'static',
    SHEAF_AUTH__ADMIN_KEY: KEY,
    SHEAF_EMBEDDER__INSTANCES: `[{key: far, type: openai, url: "${endpoint.url}", model: m, dim: 8}]`,
  };
  const server = await startTestServer(settings, { recallSampleMs: 100 });
  const headers = { authorization: `Bearer ${KEY}` };
  return { ...server, call: (method, path, body) => server.call(method, path, body, headers) };
}

/** Writes and searches with both embedders, in two modes, with an error now and then, until the test ends. */
function work(t: TestContext, { call }: TestServer): void {
  let isOver = false;
  const loop = async (): Promise<void> => {
    for (let n = 0; !isOver; n++) {
      for (const name of ['docs', 'far']) {
        await call('POST', `/v1/collections/acme/${name}/documents`, {
          docid: `d${n % 20}`,
          text: `document ${n} about wind and waves`,
        });
        await call('POST', `/v1/collections/acme/${name}/documents:batch`, {
          documents: [{ docid: `b${n % 20}`, text: `batch ${n}` }],
        });
        await call('POST', `/v1/collections/acme/${name}/search`, {
          q: 'wind and waves',
          k: 100,
          mode: n % 2 ? 'hybrid' : 'vector',
        });
      }
      await call('GET', `${docs}/documents/none`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  // The server may stop before the loop does.
  const done = loop().catch(() => undefined);
  t.after(() => ((isOver = true), done));
}

test('Prometheus scrapes, evaluates and finds what the dashboard asks for', {
  skip: PROMETHEUS === undefined && 'no Prometheus here: apt-get install prometheus',
}, async (t) => {
  const server = await startServer(t);
  for (const [name, embedder] of [
    ['docs', 'builtin'],
    ['far', 'far'],
  ] as const) {
    assert.equal((await server.call('POST', `/v1/collections/acme/${name}`, { embedder })).status, 201, name);
    // So many documents that checking a single search already gives a recall: a busy machine checks few.
    const documents = Array.from({ length: 60 }, (_, n) => ({ docid: `s${n}`, text: `wind, waves and number ${n}` }));
    assert.equal(
      (await server.call('POST', `/v1/collections/acme/${name}/documents:batch`, { documents })).json.succeeded,
      60,
      name,
    );
  }
  const prometheus = await startPrometheus(t, { port: server.port, adminKey: KEY }, SCRAPE_MS);
  work(t, server);

  await t.test('the target is up, with the admin key', () =>
    until(async () => (await prometheus.query('up{job="sheaf"} == 1')).length === 1, 'the target is not up'),
  );

  await t.test('a job that ended is there', async () => {
    const { status, text } = await server.call('POST', `${docs}/reindex`, { compact: true });
    assert.equal(status, 200, text);
    await until(
      async () => (await prometheus.query('sheaf_jobs_ended_total{status="succeeded"}')).length === 1,
      'no job has ended',
    );
  });

  await t.test('every rule is evaluated without a fault, and no alert fires', async () => {
    const rulesOf = async (): Promise<Record<string, any>[]> =>
      (await prometheus.api('rules')).groups.flatMap(({ rules }: { rules: object[] }) => rules);
    await until(
      async () => (await rulesOf()).every(({ health }) => health !== 'unknown'),
      'some rule was not evaluated',
    );
    await until(
      async () => (await prometheus.query('sheaf:search_duration_seconds:p99_5m > 0')).length === 1,
      'a recorded rule has no data',
    );
    const rules = await rulesOf();
    assert.deepEqual(
      rules.filter(({ health }) => health !== 'ok').map(({ name, lastError }) => `${name}: ${lastError}`),
      [],
    );
    assert.deepEqual(
      rules.filter(({ type, state }) => type === 'alerting' && state === 'firing').map(({ name }) => name),
      [],
    );
    for (const { name } of rules.filter(({ type }) => type === 'recording'))
      assert.ok((await prometheus.query(name)).length > 0, `${name} has no data`);
  });

  await t.test('every query of the dashboard has data', async () => {
    const queries = dashboardQueries('10s');
    assert.ok(queries.length > 30);
    // So few chunks are scanned exactly. A write may come between a search and its check, so recall may be below 1.
    await until(
      async () => (await prometheus.query('sheaf_recall_at_k > 0.5')).length > 0,
      'no recall of more than a half is measured',
    );
    for (const { panel, expression } of queries)
      await until(
        async () => (await prometheus.query(expression)).length > 0,
        `panel ${panel} has no data: ${expression}`,
      );
  });

  await t.test('every metric that a rule or a panel names is scraped', async () => {
    const scraped = new Set<string>(await prometheus.api('label/__name__/values'));
    const rules = (await prometheus.api('rules')).groups.flatMap(({ rules: all }: { rules: { query: string }[] }) =>
      all.map(({ query }) => query),
    ) as string[];
    const named = [...dashboardQueries('10s').map(({ expression }) => expression), ...rules].flatMap(metricsIn);
    assert.deepEqual(
      [...new Set(named)].filter((name) => !scraped.has(name)),
      [],
    );
  });
});
