// What `sheaf top` makes of two looks at the metrics.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linesOf, quantileMs, samplesOf } from '../../../src/cli/top.js';

const buckets = (counts: readonly number[]): string =>
  ['0.001', '0.01', '0.1', '+Inf'].map((le, i) => `lat_bucket{route="/a",le="${le}"} ${counts[i]}`).join('\n');

test('quantiles are of what came between the looks, as Prometheus estimates them', () => {
  const [before, now] = [samplesOf(buckets([10, 10, 10, 10])), samplesOf(buckets([10, 110, 110, 110]))];
  assert.equal(quantileMs(before, now, 'lat', 0.5)?.toFixed(2), '5.50');
  assert.equal(quantileMs(before, now, 'lat', 0.99)?.toFixed(2), '9.91');
  assert.equal(quantileMs(now, now, 'lat', 0.5), undefined);
  assert.equal(quantileMs(before, samplesOf(buckets([10, 10, 10, 11])), 'lat', 0.5), 100);
});

test('rates are by the time between the looks, and a server that has started anew has none below 0', () => {
  const text = (searches: number, errors: number): string =>
    `# HELP sheaf_searches_total Searches.\nsheaf_searches_total ${searches}\nsheaf_errors_total ${errors}\nsheaf_http_errors_total{code="not_found"} ${errors}\nsheaf_pool_threads{pool="search"} 2\nsheaf_pool_busy_seconds_total{pool="search"} ${searches / 100}`;
  const lines = linesOf(samplesOf(text(100, 1)), samplesOf(text(300, 5)), 2);
  assert.match(lines, /searches +100 /);
  assert.match(lines, /errors +2 .*not_found 4/);
  assert.match(lines, /search +2 +50 %/);
  assert.doesNotMatch(lines, /cluster/);
  assert.match(linesOf(samplesOf(text(100, 1)), samplesOf(text(3, 0)), 2), /searches +0 /);
});
