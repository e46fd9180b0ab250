// Tokens of mode jwt: every way to sign one, every way in which one can be invalid, and what its claims allow.
import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { SignJWT, UnsecuredJWT, type JWTPayload } from 'jose';
import type { Actor } from '../../../src/service/tenants/actor.js';
import { digestOf, openTokenKeys, type TokenKeySource } from '../../../src/config/auth.js';
import { looksLikeToken, TokenVerifier, type TokenVerifierOptions } from '../../../src/service/tenants/auth.js';
import { tempDirectory } from '../../kit/temp.js';

const directory = tempDirectory();
const clock = { ms: Date.parse('2026-03-01T00:00:00Z') };
const nowS = (): number => clock.ms / 1000;
const SECRET = 'a secret of at least thirty-two bytes';
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ed = generateKeyPairSync('ed25519');
const pem = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }) as string;
const jwk = (key: KeyObject, kid: string): object => ({ ...key.export({ format: 'jwk' }), kid });

function fileOf(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

const NO_SOURCE: TokenKeySource = { secret: '', publicKeyFile: '', jwksFile: '' };
const complaints: string[] = [];
const openKeys = (source: Partial<TokenKeySource>): TokenVerifierOptions['keys'] =>
  openTokenKeys({ ...NO_SOURCE, ...source }, clock.ms, (error) => complaints.push(error.message));
const verifierOf = (source: Partial<TokenKeySource>, wanted: Partial<TokenVerifierOptions> = {}): TokenVerifier =>
  new TokenVerifier({ keys: openKeys(source), issuer: '', audience: '', nowMs: () => clock.ms, ...wanted });

const secretKey = Buffer.from(SECRET);
const sign = (
  claims: JWTPayload,
  key: KeyObject | Uint8Array = secretKey,
  alg = 'HS256',
  kid?: string,
): Promise<string> => new SignJWT(claims).setProtectedHeader({ alg, ...(kid && { kid }) }).sign(key);
const verify = (verifier: TokenVerifier, token: string): Actor | Promise<Actor> =>
  verifier.verify(token, digestOf(token));
const refused = (verifier: TokenVerifier, token: string): Promise<void> =>
  assert.rejects(async () => verify(verifier, token), {
    code: 'auth_invalid',
    message: 'The request has no key, or an unknown, expired or revoked one.',
  });

test('HS256, RS256 and EdDSA tokens are verified by secret, PEM file and JWKS file', async () => {
  const jwksFile = fileOf('both.json', JSON.stringify({ keys: [jwk(rsa.publicKey, 'r'), jwk(ed.publicKey, 'e')] }));
  const cases: [Partial<TokenKeySource>, string][] = [
    [{ secret: SECRET }, await sign({ tenant: 't' })],
    [{ publicKeyFile: fileOf('rsa.pem', pem(rsa.publicKey)) }, await sign({ tenant: 't' }, rsa.privateKey, 'RS256')],
    [{ publicKeyFile: fileOf('ed.pem', pem(ed.publicKey)) }, await sign({ tenant: 't' }, ed.privateKey, 'EdDSA')],
    [{ jwksFile }, await sign({ tenant: 't' }, rsa.privateKey, 'RS256', 'r')],
    [{ jwksFile }, await sign({ tenant: 't' }, ed.privateKey, 'EdDSA', 'e')],
  ];
  for (const [source, token] of cases)
    assert.deepEqual(await verify(verifierOf(source), token), { name: 'tenant:t', admin: false, tenants: ['t'] });
});

test('a token that is not signed, signed by another key, or in a way that the key is not for, is no good', async () => {
  const publicKeyFile = fileOf('confused.pem', pem(rsa.publicKey));
  const byPublicKey = await sign({ tenant: 't' }, Buffer.from(pem(rsa.publicKey)));
  await refused(verifierOf({ publicKeyFile }), byPublicKey);
  await refused(verifierOf({ publicKeyFile }), await sign({ tenant: 't' }, rsa.privateKey, 'PS256'));
  await refused(
    verifierOf({ secret: SECRET }),
    await sign({ tenant: 't' }, Buffer.from('another secret of thirty-two bytes.')),
  );
  await refused(verifierOf({ secret: SECRET }), await sign({ tenant: 't' }, rsa.privateKey, 'RS256'));
  for (const source of [{ secret: SECRET }, { publicKeyFile }])
    await refused(verifierOf(source), new UnsecuredJWT({ tenant: 't' }).encode());
  const [head, , signature] = (await sign({ tenant: 't' })).split('.');
  await refused(
    verifierOf({ secret: SECRET }),
    `${head}.${Buffer.from('{"admin":true}').toString('base64url')}.${signature}`,
  );
  await refused(verifierOf({ secret: SECRET }), 'a.b.c');
});

test('exp and nbf hold, give or take half a minute', async () => {
  const verifier = verifierOf({ secret: SECRET });
  for (const claims of [{ exp: nowS() - 29 }, { nbf: nowS() + 29 }])
    assert.equal((await verify(verifier, await sign(claims))).name, 'token');
  for (const claims of [{ exp: nowS() - 31 }, { nbf: nowS() + 31 }]) await refused(verifier, await sign(claims));
});

test('issuer and audience hold where they are configured', async () => {
  const verifier = verifierOf({ secret: SECRET }, { issuer: 'https://id', audience: 'sheaf' });
  assert.equal(
    (await verify(verifier, await sign({ iss: 'https://id', aud: ['other', 'sheaf'], sub: 'u' }))).name,
    'u',
  );
  for (const claims of [{}, { iss: 'https://id' }, { iss: 'https://id', aud: 'other' }, { iss: 'x', aud: 'sheaf' }])
    await refused(verifier, await sign(claims));
});

test('the second request with a token is answered at once, until the token expires', async () => {
  const verifier = verifierOf({ secret: SECRET });
  const token = await sign({ tenant: 't', exp: nowS() + 60 });
  assert.ok(verify(verifier, token) instanceof Promise);
  await verify(verifier, token);
  assert.equal((verify(verifier, token) as Actor).name, 'tenant:t');
  clock.ms += 91_000;
  await refused(verifier, token);
});

test('a key that is added to the JWKS file is found; one that is taken out is gone after a while', async () => {
  const jwksFile = fileOf('moving.json', JSON.stringify({ keys: [jwk(rsa.publicKey, 'r')] }));
  const verifier = verifierOf({ jwksFile });
  const token = await sign({ tenant: 't' }, ed.privateKey, 'EdDSA', 'e');
  clock.ms += 20_000;
  await refused(verifier, token);
  fileOf('moving.json', JSON.stringify({ keys: [jwk(ed.publicKey, 'e')] }));
  await refused(verifier, token);
  clock.ms += 10_000;
  await verify(verifier, token);
  fileOf('moving.json', JSON.stringify({ keys: [] }));
  clock.ms += 5 * 60_000 + 1;
  await refused(verifier, token);
});

test('a JWKS file that is no good any more leaves the keys that were there', async () => {
  const jwksFile = fileOf('broken.json', JSON.stringify({ keys: [jwk(ed.publicKey, 'e')] }));
  const verifier = verifierOf({ jwksFile });
  fileOf('broken.json', '{');
  clock.ms += 6 * 60_000;
  await verify(verifier, await sign({ tenant: 't' }, ed.privateKey, 'EdDSA', 'e'));
  assert.match(complaints.at(-1) ?? '', /broken\.json is not a readable JWKS file/);
});

const CLAIMS: [JWTPayload, Actor][] = [
  [
    { tenants: ['a', 'b'], sub: 'eve' },
    { name: 'eve', admin: false, tenants: ['a', 'b'] },
  ],
  [{ tenants: '*' }, { name: 'token', admin: false }],
  [{ tenants: ['*'] }, { name: 'token', admin: false }],
  [
    { tenants: 'a', tenant: 'b' },
    { name: 'token', admin: false, tenants: ['a', 'b'] },
  ],
  [{}, { name: 'token', admin: false, tenants: [] }],
  [{ admin: true }, { name: 'admin', admin: true, unlimited: true }],
  [
    { admin: true, filters: { u: 1 }, tenant: 't' },
    { name: 'tenant:t', admin: false, tenants: ['t'], filters: { u: 1 } },
  ],
  [
    { tenant: 't', scopes: 'search openid ingest' },
    { name: 'tenant:t', admin: false, tenants: ['t'], scopes: ['search', 'ingest'] },
  ],
  [
    { tenant: 't', scopes: ['openid'] },
    { name: 'tenant:t', admin: false, tenants: ['t'], scopes: [] },
  ],
  [
    { tenant: 't', collections: ['c'], filters: null, scopes: null },
    { name: 'tenant:t', admin: false, tenants: ['t'], collections: ['c'] },
  ],
];

test('claims become what the actor may do', async () => {
  const verifier = verifierOf({ secret: SECRET });
  for (const [claims, actor] of CLAIMS)
    assert.deepEqual(await verify(verifier, await sign(claims)), actor, JSON.stringify(claims));
});

test('a claim of the wrong shape makes a token no good; nothing meant as a restriction is dropped', async () => {
  const verifier = verifierOf({ secret: SECRET });
  const wrong: JWTPayload[] = [
    { tenants: 5 },
    { tenants: [5] },
    { admin: 'true' },
    { scopes: {} },
    { filters: 'a=b' },
    { filters: ['a'] },
    { collections: 'c' },
    { collections: [1] },
  ];
  for (const claims of wrong) await refused(verifier, await sign({ tenant: 't', ...claims }));
});

test('keys that are no good end the start', () => {
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey;
  const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey;
  const wrong: [Partial<TokenKeySource>, RegExp][] = [
    [{ secret: 'x'.repeat(31) }, /auth\.jwt\.secret .* 32 bytes/],
    [{ publicKeyFile: join(directory, 'none.pem') }, /public_key_file.*not a readable PEM/],
    [{ publicKeyFile: fileOf('weak.pem', pem(weak)) }, /2048 bits/],
    [{ publicKeyFile: fileOf('curve.pem', pem(curve)) }, /neither an RSA nor an Ed25519 key/],
    [{ jwksFile: fileOf('odd.json', '{"keys":1}') }, /not a readable JWKS/],
  ];
  for (const [source, message] of wrong) assert.throws(() => openKeys(source), { name: 'ConfigError', message });
});

test("the server's own keys do not look like tokens", async () => {
  assert.ok(looksLikeToken(await sign({})));
  for (const key of ['', 'sheaf_abc-_', 'a.b', 'a.b.c.d', 'a b.c.d']) assert.equal(looksLikeToken(key), false, key);
});
