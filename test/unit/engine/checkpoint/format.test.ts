// What the name of a checkpoint depends on, and that the terms of texts and metadata are those of TERMS_VERSION.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { LANGUAGES } from '../../../../src/api/choices.js';
import { CHECKPOINT_FORMAT, hasPoints, isReadable } from '../../../../src/engine/checkpoint/format.js';
import { chunkFieldTerms, flattenLayer } from '../../../../src/engine/filter/field-terms.js';
import { chunkTerms } from '../../../../src/text/terms.js';

const TEXTS = [
  'The running captains ran to their ships; foo-bar, snake_case and v1.2.3 stayed. It isn’t “ÅNGSTRÖM” ﬁne?',
  'Die Häuser der Städte, größere Schiffe und kleinste Boote liefen in den Häfen ein.',
  'Les bateaux rapides naviguaient; l’été, les capitaines chantaient des chansons anciennes.',
  'Los capitanes corriendo hacia las playas cantaban canciones de los niños.',
  'Корабли быстро бежали по морям, капитаны пели старые песни.',
  'Οι καπετάνιοι έτρεχαν στα καράβια τους και τραγουδούσαν.',
  'السفن تجري في البحار والقباطنة يغنون',
  '吾輩は猫である。コーヒー と ﾃｽﾄ を飲む。東京都',
  '한국어 문장과 선박들이 바다를 달렸다',
  '\u0000\u0001 12345 a1b2 e\u0301te\u0301 ٣٤ x² №5',
];
const OF_DOCUMENT = {
  shelf: 'odd',
  number: 3,
  nested: { list: [1, 'two', null, { deep: true }] },
  'dotted.key': -0.5,
};
const OF_CHUNK = {
  place: [
    { lat: -17.8, lon: 180 },
    { lat: 52.52, lon: 13.405 },
  ],
  shelf: ['a', 'b'],
  when: '2024-02-29T12:00:00Z',
  large: 1e21,
  none: null,
};

/** The digest of the terms as builds with this TERMS_VERSION made them; checkpoints of those builds are read. */
const DIGEST = 'c3db3a3fc1079c74';

test('texts and metadata have the terms that TERMS_VERSION stands for', () => {
  const terms = [
    ...LANGUAGES.flatMap((language) => TEXTS.map((text) => chunkTerms(text, language))),
    chunkFieldTerms(OF_CHUNK, flattenLayer(OF_DOCUMENT)),
    chunkFieldTerms({}, flattenLayer(OF_DOCUMENT)),
  ];
  const digest = createHash('sha256').update(JSON.stringify(terms)).digest('hex').slice(0, 16);
  assert.equal(digest, DIGEST, 'the terms have changed: raise TERMS_VERSION, and read no text index of before');
});

test('checkpoints of this build, of layout 3, of terms 1 and of 5df2b01 are read, others are not', () => {
  assert.ok(isReadable(CHECKPOINT_FORMAT) && hasPoints(CHECKPOINT_FORMAT));
  const withPoints = 'layout 3, terms 2, 8 arenas, schema 1';
  assert.ok(isReadable(withPoints) && hasPoints(withPoints));
  const before = 'layout 3, terms 1, 8 arenas, schema 1';
  assert.ok(isReadable(before) && !hasPoints(before));
  assert.ok(isReadable('97e21c54ba0b491ae53072a076cafc6503ce361e8fe9943c7b8ee5986e4ffe9f 8 0.9.7 1'));
  assert.ok(!isReadable(CHECKPOINT_FORMAT.replace(/layout \d+/, 'layout 2')));
  assert.ok(!isReadable(''));
});
