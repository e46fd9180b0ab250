// Which vector space a collection gets: selectors, detailed fields, options, and what a tenant cannot see.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EmbedderInstance } from '../../../src/embedding/embedder-spec.js';
import {
  BUILTIN,
  type EmbedderChoice,
  asksForEmbedder,
  chooseSpace,
  defaultFor,
  spaceOf,
  visibleTo,
} from '../../../src/embedding/spaces.js';

function instance(
  key: string,
  model: string,
  options: Record<string, string | number> & { dim: number },
  tenants?: string[],
): EmbedderInstance {
  return { key, space: spaceOf('onnx', model, options), spec: { key, type: 'builtin' }, ...(tenants && { tenants }) };
}

const small = instance('small', 'minilm', { dim: 128 });
const large = instance('large', 'minilm', { dim: 384 });
const naive = instance('twin', 'minilm', { dim: 384 });
const cased = instance('cased', 'minilm', { dim: 384, pooling: 'cls' });
const prefixed = instance('prefixed', 'e5:small', { dim: 384, query_prefix: 'query: ' });
const private1 = instance('private', 'secret', { dim: 3 }, ['acme', 'other']);
const all = [small, large, naive, cased, prefixed, private1, BUILTIN];
const seen = visibleTo('nobody', all);

const chosen = (choice: EmbedderChoice, instances = seen): string =>
  chooseSpace(choice, instances, BUILTIN.space).vector_space_key;
const refused = (choice: EmbedderChoice, message: RegExp, instances = seen): void =>
  assert.throws(() => chosen(choice, instances), { code: 'invalid_embedder_config', message });

test('a selector is a key, a type, type:model, or the key of a space', () => {
  for (const selector of ['prefixed', 'onnx:e5:small', 'onnx:e5:small:dim=384,query_prefix=query: '])
    assert.equal(chosen({ embedder: selector }), prefixed.space.vector_space_key, selector);
  assert.equal(chosen({ embedder: 'builtin' }), BUILTIN.space.vector_space_key);
  assert.equal(chosen({ embedder: 'twin' }), large.space.vector_space_key);
  assert.equal(chosen({ embedder: 'onnx' }, [large, naive]), large.space.vector_space_key);
});

test('a selector that fits no space, or more than one, is refused', () => {
  refused({ embedder: 'nope' }, /names no configured/);
  refused({ embedder: '' }, /names no configured/);
  refused({ embedder: 'onnx' }, /ambiguous/);
  refused({ embedder: 'onnx:minilm' }, /ambiguous/);
  for (const detail of [{ embedder_type: 'onnx' }, { embed_model: 'minilm' }, { embedder_config: {} }]) {
    assert.throws(() => chosen({ embedder: 'small', ...detail }), { code: 'validation_error' });
  }
});

test('options choose among spaces of one model, and have to agree', () => {
  const onnx = { embedder_type: 'onnx', embed_model: 'minilm' };
  assert.equal(chosen({ ...onnx, embedder_config: { dim: 128 } }), small.space.vector_space_key);
  assert.equal(chosen({ ...onnx, embedder_config: { dim: 384 } }), large.space.vector_space_key);
  assert.equal(chosen({ ...onnx, embedder_config: { pooling: 'cls' } }), cased.space.vector_space_key);
  assert.equal(chosen({ embedder_config: { query_prefix: 'query: ' } }), prefixed.space.vector_space_key);
  assert.equal(chosen({ embedder_config: { dim: 512 } }), BUILTIN.space.vector_space_key);
  refused(onnx, /ambiguous/);
  refused({ ...onnx, embedder_config: {} }, /ambiguous/);
  refused({ ...onnx, embedder_config: { dim: 200 } }, /has these options/);
  refused({ ...onnx, embedder_config: { dim: '384' } }, /has these options/);
  refused({ ...onnx, embedder_config: { dims: 384 } }, /no option "dims"; it has dim, pooling\./);
  refused({ embedder_type: 'builtin', embedder_config: { toString: 1 } }, /no option "toString"/);
  refused({ embedder_type: 'onnx', embed_model: 'e5' }, /type and model/);
});

test('what a collection is told of its space asks for that space again', () => {
  for (const { space } of [...seen, private1]) {
    const { embedder_type, embed_model, embedder_config } = space;
    assert.equal(chosen({ embedder_type, embed_model, embedder_config }, all), space.vector_space_key);
  }
});

test('options that say nothing ask for nothing', () => {
  assert.equal(chosen({ embedder_config: {} }), BUILTIN.space.vector_space_key);
  assert.deepEqual(
    [
      asksForEmbedder({ embedder_config: {} }),
      asksForEmbedder({ embedder_config: null }),
      asksForEmbedder({ embedder_config: { dim: 1 } }),
    ],
    [false, false, true],
  );
});

test('an instance of other tenants does not exist', () => {
  for (const selector of ['private', 'onnx:secret', private1.space.vector_space_key]) {
    refused({ embedder: selector }, /names no configured/);
    assert.equal(chosen({ embedder: selector }, visibleTo('acme', all)), private1.space.vector_space_key);
  }
  refused({ embedder_config: { dim: 3 } }, /has these options/);
  assert.deepEqual(
    [visibleTo('acme', all).length, visibleTo('nobody', all).length, visibleTo(undefined, all).length],
    [7, 6, 7],
  );
});

test('the default of a tenant that may not use the configured one: its own first instance, else the built-in', () => {
  const of = (
    tenant: string | undefined,
    instances: readonly EmbedderInstance[],
    configured: EmbedderInstance,
  ): string => defaultFor(tenant, visibleTo(tenant, instances), configured.space).vector_space_key;
  assert.equal(of('nobody', all, large), large.space.vector_space_key);
  assert.equal(of('acme', all, private1), private1.space.vector_space_key);
  assert.equal(of('nobody', all, private1), BUILTIN.space.vector_space_key);
  const own = instance('own', 'own', { dim: 5 }, ['fox']);
  assert.equal(of('fox', [small, private1, own, BUILTIN], private1), own.space.vector_space_key);
  assert.equal(of(undefined, all, private1), private1.space.vector_space_key);
});

test('another instance of the default space that a tenant may use keeps it the default', () => {
  const shared = instance('shared', 'secret', { dim: 3 });
  assert.equal(
    defaultFor('nobody', visibleTo('nobody', [private1, shared, BUILTIN]), private1.space).vector_space_key,
    private1.space.vector_space_key,
  );
});
