// Documents of the torture program: every revision of a document has a text, or a vector, that can be told from any
// other, part by part, so that a half document or a mixture of two revisions shows. Pure: what a revision has follows
// from seed, document id and number.
import { createPrng } from '../../../src/base/prng.js';

/** Chunk size of the collection, without overlap: part i of a text is chunk i. */
export const PART_CHARACTERS = 160;
export const VECTOR_DIM = 24;
const PARTS_MAX = 8;
const WORDS = 500;
const SYLLABLES = [
  'ba',
  'ce',
  'di',
  'fo',
  'gu',
  'ha',
  'je',
  'ki',
  'lo',
  'mu',
  'na',
  'pe',
  'qui',
  'ro',
  'su',
  'ta',
  've',
  'wi',
  'xo',
  'zu',
];

const VOCABULARY = vocabulary();

function vocabulary(): string[] {
  const prng = createPrng(1);
  return Array.from({ length: WORDS }, () =>
    Array.from({ length: 2 + prng.int(3) }, () => SYLLABLES[prng.int(SYLLABLES.length)]).join(''),
  );
}

/** The parts of revision `revision` of document `docid`; 1 to 8 of them, each of PART_CHARACTERS characters. */
export function partsOf(seed: number, docid: string, revision: number): string[] {
  const prng = createPrng(seed * 31 + Number(docid.slice(1)) * 1009 + revision * 9_176_543);
  return Array.from({ length: 1 + prng.int(PARTS_MAX) }, (_, part) => {
    let text = `${docid} r${revision} p${part}`;
    while (text.length < PART_CHARACTERS) text += ` ${VOCABULARY[prng.int(WORDS)]}`;
    return `${text.slice(0, PART_CHARACTERS - 1)}.`;
  });
}

/** Of a document that came as a vector. */
export function vectorOf(seed: number, docid: string, revision: number): number[] {
  const prng = createPrng(seed * 37 + Number(docid.slice(1)) * 2003 + revision * 7_368_787);
  return Array.from({ length: VECTOR_DIM }, () => Math.fround(prng.normal()));
}
