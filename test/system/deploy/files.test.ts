// The files of scripts/deploy, as far as they can be checked without installing them: the rules by promtool, the unit
// by systemd, the rest against the project that they belong to.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { CONFIG_KEYS, envNameOf } from '../../../src/config/keys.js';
import { dashboardQueries, DEPLOY, metricsIn, PROMTOOL } from '../../kit/prometheus.js';
import { MAIN } from '../../kit/process.js';
import { findNats } from '../../../load/kit/nats.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const read = (name: string): string => readFileSync(join(DEPLOY, name), 'utf8');
const noPromtool = PROMTOOL === undefined && 'no promtool here: apt-get install prometheus';
const SYSTEMD_ANALYZE = '/usr/bin/systemd-analyze';

for (const arguments_ of [
  ['check', 'rules', 'rules.yml'],
  ['test', 'rules', 'rules.test.yml'],
]) {
  test(`promtool ${arguments_.join(' ')}`, { skip: noPromtool }, () => {
    const { status, stdout, stderr } = spawnSync(PROMTOOL as string, arguments_, {
      cwd: join(DEPLOY, 'prometheus'),
      encoding: 'utf8',
    });
    assert.equal(status, 0, stdout + stderr);
  });
}

test('rules and dashboard name only metrics that the server has', async () => {
  const server = await startTestServer({ SHEAF_METRICS__TENANT_LABELS: '1' });
  const { text } = await server.call('GET', '/metrics');
  const known = new Set(
    Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name, type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ).flat(),
  );
  const rules = parse(read('prometheus/rules.yml')) as { groups: { rules: { record?: string; expr: string }[] }[] };
  const named = [
    ...rules.groups.flatMap((group) => group.rules.map(({ expr }) => expr)),
    ...dashboardQueries('5m').map(({ expression }) => expression),
  ];
  assert.deepEqual(
    named.flatMap(metricsIn).filter((name) => !known.has(name)),
    [],
  );
  const recorded = new Set(rules.groups.flatMap((group) => group.rules.flatMap(({ record }) => record ?? [])));
  assert.deepEqual(
    named.flatMap((expr) => expr.match(/sheaf:[\w:]+/g) ?? []).filter((name) => !recorded.has(name)),
    [],
  );
});

test('the dashboard is one that Grafana can load: panels with ids, places and queries, and the variables that these use', () => {
  const { panels, templating, uid, title } = JSON.parse(read('grafana/dashboard.json')) as Record<string, any>;
  assert.deepEqual([uid, title], ['sheaf', 'Sheaf']);
  assert.equal(new Set(panels.map(({ id }: { id: number }) => id)).size, panels.length);
  const variables = new Set(templating.list.map(({ name }: { name: string }) => `$${name}`)).add('$__rate_interval');
  for (const { type, gridPos, targets, title: panel } of panels.filter(
    ({ type }: { type: string }) => type !== 'row',
  )) {
    assert.ok(['stat', 'timeseries'].includes(type) && gridPos.x + gridPos.w <= 24 && targets.length > 0, panel);
    for (const { expr } of targets)
      for (const used of expr.match(/\$\w+/g) ?? []) assert.ok(variables.has(used), `${panel} uses ${used}`);
  }
});

test('the Dockerfile copies what there is, runs what the build makes, and sets keys that there are', () => {
  const text = read('Dockerfile');
  const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources]) =>
    (sources as string).split(' '),
  );
  assert.deepEqual(
    copied.filter((path) => !existsSync(path)),
    [],
  );
  const ignored = readFileSync('.dockerignore', 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  assert.deepEqual(
    copied.filter((path) => ignored.includes(path.replace(/\/$/, ''))),
    [],
  );
  const [, , main] = JSON.parse(/^CMD (.+)$/m.exec(text)?.[1] as string) as string[];
  assert.ok(existsSync(main as string), main);
  const known = new Set(CONFIG_KEYS.map(({ path }) => envNameOf(path)));
  const files = [text, read('compose.yaml'), read('sheaf.service')].join('\n');
  const named = [...files.matchAll(/SHEAF_[A-Z_]+__[A-Z_]+|SHEAF_DATA_DIR/g)].map(([name]) => name);
  assert.deepEqual(
    named.filter((name) => !known.has(name)),
    [],
  );
});

test('whatever starts the server scales the helper threads of V8 with the machine', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const starts = [
    readFileSync(MAIN, 'utf8').split('\n')[0],
    scripts['start'],
    scripts['demo'],
    /^CMD .+$/m.exec(read('Dockerfile'))?.[0],
    /^ExecStart=.+$/m.exec(read('sheaf.service'))?.[0],
  ];
  for (const start of starts) assert.match(start ?? '', /--v8-pool-size=0/);
  // As `npx sheaf` starts it: the kernel takes what follows the interpreter for one argument.
  const [, interpreter, argument] = /^#!(\S+) (.+)$/.exec(starts[0] ?? '') as unknown as [string, string, string];
  const { status, stdout, stderr } = spawnSync(interpreter, [argument, MAIN, '--version'], { encoding: 'utf8' });
  assert.deepEqual([status, stderr], [0, '']);
  assert.match(stdout, /^\d+\.\d+/);
});

test('the health check of the image tells a server that is ready from one that is not there', async () => {
  const server = await startTestServer();
  const [, , ...check] = JSON.parse(
    /^HEALTHCHECK .* CMD (\[.+\])$/m.exec(read('Dockerfile'))?.[1] as string,
  ) as string[];
  const exit = (port: number): Promise<number | null> => {
    const child = spawn(process.execPath, ['-e', (check[0] as string).replace('8080', String(port))]);
    return new Promise((resolve) => child.once('exit', resolve));
  };
  assert.deepEqual([await exit(server.port), await exit(1)], [0, 1]);
});

test('the compose file mounts files that there are, and gives the server time to stop', () => {
  const { services, secrets } = parse(read('compose.yaml')) as Record<string, any>;
  const mounts = Object.values(services as Record<string, { volumes?: string[] }>).flatMap(({ volumes = [] }) =>
    volumes.map((volume) => volume.split(':')[0] as string),
  );
  assert.deepEqual(
    mounts.filter((path) => path.startsWith('./') && !existsSync(join(DEPLOY, path))),
    [],
  );
  assert.ok(existsSync(join(DEPLOY, services.sheaf.build.context, services.sheaf.build.dockerfile)));
  const drainSeconds = CONFIG_KEYS.find(({ path }) => path === 'limits.drain_timeout_seconds')?.fallback as number;
  assert.ok(Number.parseInt(services.sheaf.stop_grace_period, 10) > drainSeconds);
  assert.equal(
    (parse(read('prometheus/prometheus.yml')) as Record<string, any>).scrape_configs[0].authorization.credentials_file,
    `/run/secrets/${Object.keys(secrets)[0]}`,
  );
});

test('the files for a cluster have three of each, with the settings that nodes ask for', {
  skip: findNats() === undefined && 'nats-server is absent: node scripts/nats-server.mjs builds it',
}, () => {
  const { services, volumes } = parse(read('cluster/compose.yaml'), { merge: true }) as Record<string, any>;
  const names = Object.keys(services as object);
  assert.deepEqual(names, ['nats-1', 'nats-2', 'nats-3', 'node-1', 'node-2', 'node-3']);
  assert.deepEqual(Object.keys(volumes as object), names);
  assert.ok(existsSync(join(DEPLOY, 'cluster', services['node-1'].build.context, services['node-1'].build.dockerfile)));
  const keys = new Set(CONFIG_KEYS.map(({ path }) => envNameOf(path)));
  for (const name of names.slice(3))
    for (const variable of Object.keys(services[name].environment as object)) assert.ok(keys.has(variable), variable);
  for (const name of names.slice(0, 3)) {
    const environment = services[name].environment as Record<string, string>;
    assert.equal(environment.NATS_NAME, name);
    const checked = spawnSync(findNats() as string, ['-t', '-c', join(DEPLOY, 'cluster/nats.conf')], {
      encoding: 'utf8',
      env: { ...environment, NATS_STORE: tempDirectory() },
    });
    assert.equal(checked.status, 0, checked.stderr);
  }
  const text = read('cluster/nats.conf');
  for (const setting of [/^ {2}sync_interval: always$/m, /^max_payload: 8MB$/m, /^http: /m])
    assert.match(text, setting);
});

test('the Kubernetes objects name each other, and nothing that is not there', () => {
  const objects = parseAllDocuments(read('cluster/kubernetes.yaml')).map((document) => {
    assert.deepEqual(document.errors, []);
    return document.toJS() as Record<string, any>;
  });
  const of = (kind: string): Record<string, any>[] => objects.filter((object) => object.kind === kind);
  const labels = new Set(of('StatefulSet').map(({ spec }) => spec.template.metadata.labels.app as string));
  assert.deepEqual([...labels], ['sheaf-nats', 'sheaf']);
  const keys = new Set(CONFIG_KEYS.map(({ path }) => envNameOf(path)));
  for (const { metadata, spec } of of('StatefulSet')) {
    const { labels: own } = spec.template.metadata;
    assert.equal(spec.replicas, 3);
    assert.deepEqual(spec.selector.matchLabels, own);
    assert.ok(
      of('Service').some((service) => service.metadata.name === spec.serviceName && service.spec.clusterIP === 'None'),
    );
    assert.ok(
      of('PodDisruptionBudget').some(
        (budget) => budget.spec.selector.matchLabels.app === own.app && budget.spec.maxUnavailable === 1,
      ),
    );
    const { containers, volumes, securityContext, enableServiceLinks } = spec.template.spec;
    // With them, a service called sheaf would set variables of the environment that look like keys.
    if (metadata.name === 'sheaf') assert.equal(enableServiceLinks, false);
    assert.equal(securityContext.runAsNonRoot, true);
    const known = [...volumes, ...spec.volumeClaimTemplates.map(({ metadata: { name } }: any) => ({ name }))];
    for (const { env, ports, volumeMounts, ...container } of containers) {
      assert.equal(container.securityContext.readOnlyRootFilesystem, true);
      for (const { name } of volumeMounts)
        assert.ok(
          known.some((volume: { name: string }) => volume.name === name),
          name,
        );
      for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe'])
        if (container[probe])
          assert.ok(
            ports.some(({ name }: any) => name === container[probe].httpGet.port),
            probe,
          );
      for (const { name, value = '' } of env) {
        if (metadata.name === 'sheaf') assert.ok(keys.has(name), name);
        for (const [, host, service, port] of value.matchAll(/\/\/([\w-]+)-[012]\.([\w-]+):(\d+)/g)) {
          assert.deepEqual([host, service], ['sheaf-nats', 'sheaf-nats']);
          const served = of('Service').find((each) => each.metadata.name === service)?.spec.ports as { port: number }[];
          assert.ok(
            served.some((each) => each.port === Number(port)),
            port,
          );
        }
      }
    }
  }
  const { resources, configMapGenerator } = parse(read('cluster/kustomization.yaml')) as Record<string, any>;
  for (const file of [...resources, ...configMapGenerator[0].files])
    assert.ok(existsSync(join(DEPLOY, 'cluster', file)), file);
  assert.equal(of('StatefulSet')[0]?.spec.template.spec.volumes[0].configMap.name, configMapGenerator[0].name);
});

test('systemd takes the unit, and finds little that it could do to the rest of the machine', {
  skip: !existsSync(SYSTEMD_ANALYZE) && 'no systemd here: apt-get install systemd',
}, () => {
  const unit = join(tempDirectory(), 'sheaf.service');
  // The unit names paths of the machine that it is for.
  writeFileSync(unit, read('sheaf.service').replace('/usr/bin/node --v8', '/bin/true --v8'));
  const verified = spawnSync(SYSTEMD_ANALYZE, ['verify', unit], { encoding: 'utf8' });
  assert.deepEqual(
    [verified.status, verified.stderr.split('\n').filter((line) => line.includes('sheaf.service'))],
    [0, []],
  );
  const { stdout, status, stderr } = spawnSync(SYSTEMD_ANALYZE, ['security', '--offline=true', '--no-pager', unit], {
    encoding: 'utf8',
  });
  // systemd before version 250 has no `--offline`.
  if (status !== 0 && stderr.includes('unrecognized option')) return;
  const exposure = Number(/Overall exposure level for sheaf\.service: ([\d.]+)/.exec(stdout)?.[1]);
  assert.ok(exposure <= 2, stdout);
});

test('the README of the folder names every file in it', () => {
  const text = read('README.md');
  const files = readdirSync(DEPLOY, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name !== 'README.md',
  );
  assert.deepEqual(
    files.map(({ name }) => name).filter((name) => !text.includes(name)),
    [],
  );
});
