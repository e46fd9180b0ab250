// The bodies of replies: the success envelope, ready JSON parts, the error envelope and the list of a 422.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError, invalidField } from '../../../src/api/errors.js';
import { encodeError, encodeReply, type Answer } from '../../../src/http/envelope.js';

const CLOSING = { latencyMs: 1.23456, requestId: 'r"1\\' };
const textOf = (answer: Answer): string => Buffer.from(answer.body).toString();
const error = (thrown: AppError, keeps400 = true): { answer: Answer; json: Record<string, unknown> } => {
  const answer = encodeError(thrown, { keeps400 }, CLOSING);
  return { answer, json: JSON.parse(textOf(answer)) as Record<string, unknown> };
};

test('a success begins with ok and ends with the closing fields', () => {
  const answer = encodeReply({ status: 201, json: { name: 'é', left_out: undefined } }, CLOSING);
  assert.equal(answer.status, 201);
  assert.equal(answer.contentType, 'application/json');
  assert.equal(textOf(answer), '{"ok":true,"name":"é","latency_ms":1.235,"request_id":"r\\"1\\\\"}');
});

test('ok follows the status, and the handler may set it', () => {
  assert.match(textOf(encodeReply({ status: 503, json: { version: '1' } }, CLOSING)), /^\{"ok":false,"version"/);
  assert.match(textOf(encodeReply({ status: 503, json: { ok: true } }, CLOSING)), /^\{"ok":true,"latency_ms"/);
});

test('ready parts, strings and bytes, are joined into one object', () => {
  const parts = ['{"matches":[', Buffer.from('{"id":"é"}'), ',', new TextEncoder().encode('{"id":"b"}'), '],"count":2'];
  const expected =
    '{"ok":true,"matches":[{"id":"é"},{"id":"b"}],"count":2,"latency_ms":1.235,"request_id":"r\\"1\\\\"}';
  assert.equal(textOf(encodeReply({ status: 200, jsonParts: parts }, CLOSING)), expected);
  assert.equal(
    textOf(
      encodeReply(
        {
          status: 200,
          jsonParts: [
            Buffer.from(
              parts
                .map((part) => part.toString())
                .slice(0, 1)
                .join(''),
            ),
            '],"a":1',
          ],
        },
        CLOSING,
      ),
    ).slice(0, 30),
    '{"ok":true,"matches":[],"a":1,',
  );
  assert.throws(() => encodeReply({ status: 200, jsonParts: ['"matches":['] }, CLOSING), /brace/);
});

test('bytes go out as they are', () => {
  const answer = encodeReply({ status: 200, bytes: Buffer.from('plain'), contentType: 'text/plain' }, CLOSING);
  assert.deepEqual([textOf(answer), answer.contentType], ['plain', 'text/plain']);
});

test('an error has the fields of the envelope', () => {
  const { answer, json } = error(
    new AppError('collection_not_found', 'No collection x.', { details: { collection: 'x' } }),
  );
  assert.equal(answer.status, 404);
  assert.deepEqual(json, {
    ok: false,
    code: 'collection_not_found',
    error: 'No collection x.',
    error_type: 'not_found',
    details: { collection: 'x' },
    latency_ms: 1.235,
    request_id: 'r"1\\',
  });
  assert.equal(Object.keys(json)[0], 'ok');
});

test('error_type depends on the status, and is absent for internal errors', () => {
  assert.equal(error(new AppError('overloaded')).json.error_type, 'unavailable');
  assert.equal(error(new AppError('invalid_json')).json.error_type, 'invalid');
  assert.equal('error_type' in error(new AppError('internal_error')).json, false);
});

test('a 400 stays where the route lists 400 and becomes 422 with its list elsewhere', () => {
  const refused = new AppError('invalid_json', undefined, { details: { offset: 7 } });
  assert.equal(error(refused).answer.status, 400);
  assert.equal('detail' in error(refused).json, false);
  const { answer, json } = error(refused, false);
  const list = [{ loc: ['body'], msg: 'The body is not JSON.', type: 'invalid_json' }];
  assert.equal(answer.status, 422);
  assert.equal(json.code, 'invalid_json');
  assert.deepEqual(json.detail, list);
  assert.deepEqual(json.details, { offset: 7, errors: list });
});

test('a validation error carries its list twice', () => {
  const { answer, json } = error(invalidField(['query', 'k'], 'should be at most 1000', 'out_of_range', 5000));
  const list = [{ loc: ['query', 'k'], msg: 'should be at most 1000', type: 'out_of_range', input: 5000 }];
  assert.equal(answer.status, 422);
  assert.deepEqual(json.detail, list);
  assert.deepEqual(json.details, { errors: list });
});

test('headers: Retry-After in whole seconds, WWW-Authenticate with 401, those of the error', () => {
  assert.deepEqual(error(new AppError('overloaded', undefined, { retryAfterS: 0.2 })).answer.headers, {
    'Retry-After': '1',
  });
  assert.deepEqual(error(new AppError('auth_invalid')).answer.headers, { 'WWW-Authenticate': 'Bearer' });
  assert.deepEqual(error(new AppError('method_not_allowed', undefined, { headers: { Allow: 'GET' } })).answer.headers, {
    Allow: 'GET',
  });
});
