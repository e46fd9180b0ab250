// A cluster whose NATS servers ask for TLS and for credentials that an account has signed: nodes that have them work, and
// others say what they lack.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { nkeys } from '@nats-io/transport-node';
import { ask, skip, startNats, startNode } from '../../kit/nats.js';
import { spawnServe } from '../../kit/process.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

type KeyPair = ReturnType<typeof nkeys.createAccount>;

/** A token as `nsc` makes it (https://docs.nats.io/running-a-nats-service/nats_admin/jwt). */
function signed(issuer: KeyPair, subject: KeyPair, type: string, content: object): string {
  const [iss, sub] = [issuer.getPublicKey(), subject.getPublicKey()];
  const body = { jti: crypto.randomUUID(), iat: Math.floor(Date.now() / 1000), iss, sub, name: type };
  const nats = { ...content, type, version: 2 };
  const packed = [
    { typ: 'JWT', alg: 'ed25519-nkey' },
    { ...body, nats },
  ]
    .map((json) => Buffer.from(JSON.stringify(json)).toString('base64url'))
    .join('.');
  return `${packed}.${Buffer.from(issuer.sign(Buffer.from(packed))).toString('base64url')}`;
}

const UNLIMITED = { subs: -1, data: -1, payload: -1 };
const ACCOUNT = {
  limits: {
    ...UNLIMITED,
    ...{ imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 },
    ...{ mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 },
  },
};

/** Accounts for the configuration of the servers, and the file of a user. */
function credentialsIn(folder: string): { settings: string; file: string } {
  const [operator, system, account, user] = [
    nkeys.createOperator(),
    nkeys.createAccount(),
    nkeys.createAccount(),
    nkeys.createUser(),
  ];
  const preloaded = [
    [system, { limits: { ...ACCOUNT.limits, mem_storage: 0, disk_storage: 0, streams: 0, consumer: 0 } }],
    [account, ACCOUNT],
  ] as const;
  const settings = `operator: ${signed(operator, operator, 'operator', {})}
system_account: ${system.getPublicKey()}
resolver: MEMORY
resolver_preload: {
${preloaded.map(([pair, content]) => `  ${pair.getPublicKey()}: ${signed(operator, pair, 'account', content)}`).join('\n')}
}`;
  const file = join(folder, 'node.creds');
  const jwt = signed(account, user, 'user', { ...UNLIMITED, pub: {}, sub: {} });
  const block = (name: string, content: string): string =>
    `-----BEGIN ${name}-----\n${content}\n------END ${name}------\n\n`;
  writeFileSync(file, block('NATS USER JWT', jwt) + block('USER NKEY SEED', Buffer.from(user.getSeed()).toString()));
  return { settings, file };
}

/** A certificate for this machine, which signs itself. */
function certificateIn(folder: string): { cert: string; key: string } {
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key, '-out', cert];
  const name = ['-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', '-x509', ...made, ...name], { stdio: 'ignore' });
  return { cert, key };
}

test('nodes reach servers that ask for TLS and credentials, and say what they lack', { skip }, async () => {
  const folder = tempDirectory();
  const { cert, key } = certificateIn(folder);
  const { settings, file } = credentialsIn(folder);
  const tls = `tls { cert_file: "${cert}", key_file: "${key}" }`;
  const nats = await startNats({ settings: `${tls}\n${settings}` });
  const [SHEAF_CLUSTER__TLS_CA, SHEAF_CLUSTER__CREDENTIALS] = [cert, file];
  const secure = { SHEAF_CLUSTER__TLS_CA, SHEAF_CLUSTER__CREDENTIALS };
  const nodes = [await startNode(nats, secure), await startNode(nats, secure)] as const;
  const DOCUMENTS = '/v1/collections/acme/docs/documents';
  const { status, token } = await ask(nodes[0], 'POST', DOCUMENTS, { docid: 'a', text: 'A whale.' });
  assert.equal(status, 201);
  assert.equal((await ask(nodes[1], 'GET', `${DOCUMENTS}/a`, undefined, { 'x-consistency': token })).status, 200);
  const lackings: Record<string, string>[] = [{ SHEAF_CLUSTER__TLS_CA }, { SHEAF_CLUSTER__CREDENTIALS }];
  for (const lacking of lackings) {
    const node = spawnServe({
      SHEAF_DATA_DIR: tempDirectory(),
      SHEAF_STORAGE__PARTITIONS: '2',
      ...nats.env,
      ...lacking,
    });
    await until(() => node.child.exitCode !== null, 'a node without what it needs does not end');
    assert.notEqual(await node.ended, 0);
    assert.match(node.output(), /the NATS servers .* do not answer \((.*)\)/);
  }
});
