// The structs of src/engine/memory/layout.ts. This file lists the size of every field, and checks that no two fields of
// a struct overlap, that none reaches beyond the end, and that the free bytes are those that the struct's comment
// names.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import * as layout from '../../../src/engine/memory/layout.js';

/** A struct of the layout; its name is that of its section there. */
interface LayoutRecord {
  readonly bytes: number;
  /** Names of the constants that are offsets of 32-bit fields. */
  readonly words: readonly string[];
  /** Offsets of larger fields, with their sizes in bytes. */
  readonly arrays?: Readonly<Record<string, number>>;
  /** Constants of the section that are not offsets within the struct. */
  readonly others?: readonly string[];
}

const {
  BATCH_ROWS,
  BINS,
  QUANTIZER_BYTES,
  DIRECTORY_ENTRIES,
  ENTRY_BYTES,
  LINE_BYTES,
  EDGES_0,
  NODE_WORDS_BYTES,
  PLAN_BYTES,
  COLUMN_BYTES,
  READERS_AT,
  READER_BYTES,
  ROOT_BYTES,
  ROW_WORDS_BYTES,
  SCRATCH_BYTES,
  SEGMENT_ROOTS_BYTES,
  SMALL_TABLE_BYTES,
  TABLE_BYTES,
} = layout;
const KEY_BYTES = 8;
const AREA_BYTES = 8;

const RECORDS: Readonly<Record<string, LayoutRecord>> = {
  'Arena header': {
    bytes: READERS_AT,
    words: [
      'MAGIC_AT',
      'VERSION_AT',
      'STATE_AT',
      'LOCK_AT',
      'LAST_ROW_VERSION_AT',
      'USED_AT',
      'FENCE_AT',
      'LOCKS_AT',
      'EPOCH_AT',
      'OPEN_AT',
      'INCARNATION_AT',
      'READERS_END_AT',
      'DIRECTORY_AT',
      'PUBLISHED_ROW_VERSION_AT',
      'DAMAGED_AT',
      'RETIRED_FIRST_AT',
      'RETIRED_LAST_AT',
      'RETIRED_LINES_AT',
    ],
    arrays: { BINS_AT: 4 * BINS },
    others: ['BINS', 'OWNER', 'RECLAIM_STEP'],
  },
  Reader: {
    bytes: READER_BYTES,
    words: ['READER_THREAD', 'READER_EPOCH', 'READER_SCRATCH', 'READER_INCARNATION'],
    others: ['READER_BYTES', 'READERS_AT', 'READER_LINES', 'READERS_MAX', 'ARENA_START'],
  },
  'Chunk header': {
    bytes: LINE_BYTES,
    words: [
      'CHUNK_LINES',
      'CHUNK_LINES_BEFORE',
      'CHUNK_IN_USE',
      'CHUNK_NEXT',
      'CHUNK_PREVIOUS',
      'CHUNK_EPOCH',
      'CHUNK_GIVEN_TO',
    ],
  },
  'Segment directory': {
    bytes: DIRECTORY_ENTRIES,
    words: ['DIRECTORY_SIZE', 'DIRECTORY_USED', 'DIRECTORY_LIVE'],
    others: ['DIRECTORY_ENTRIES'],
  },
  'Directory entry': {
    bytes: ENTRY_BYTES,
    words: ['ENTRY_ID'],
    arrays: { ENTRY_ROOTS: SEGMENT_ROOTS_BYTES },
    others: ['ENTRY_BYTES'],
  },
  'Segment roots': {
    bytes: SEGMENT_ROOTS_BYTES,
    words: [
      'SEGMENT_VECTORS',
      'SEGMENT_TEXT',
      'SEGMENT_FIELDS',
      'SEGMENT_PRIORITIES',
      'SEGMENT_USED_AT',
      'SEGMENT_ARENAS',
    ],
    others: ['SEGMENT_ROOTS_BYTES', 'LOST'],
  },
  'Index root': {
    bytes: ROOT_BYTES,
    words: [
      'ROOT_DIM',
      'ROOT_ROW_BYTES',
      'ROOT_GRAPH_MIN',
      'ROOT_ROWS_END',
      'ROOT_LIVE',
      'ROOT_INDEXED',
      'ROOT_TOMBSTONES',
      'ROOT_GRAPH',
      'ROOT_INDEXED_TO',
      'ROOT_ENTRY',
      'ROOT_QUEUE',
      'ROOT_QUEUE_HEAD',
      'ROOT_QUEUE_TAIL',
      'ROOT_LINES',
      'ROOT_WIDE_BYTES',
      'ROOT_QUANTIZER',
      'ROOT_QUANTIZER_NEXT',
      'ROOT_EF',
      'ROOT_REMOVALS',
      'ROOT_QUANTIZATION',
      'ROOT_LEARN_AT',
      'ROOT_CHECK_AT',
      'ROOT_ROW_TABLE',
      'ROOT_NODE_TABLE',
      'ROOT_UNDENSIFIED',
      'ROOT_DENSIFYING',
      'ROOT_TRUSTED',
      'ROOT_TRUSTED_BROAD',
      'ROOT_CHECKED',
    ],
    arrays: { ROOT_SMALL_TABLE: SMALL_TABLE_BYTES },
    others: ['ROOT_BYTES', 'ENTRY_LEVEL_SHIFT', 'ENTRY_ORDINAL_MASK', 'QUEUE_ROWS'],
  },
  'Row words': {
    bytes: ROW_WORDS_BYTES,
    words: ['ROW_VERSION', 'ROW_DUPLICATE', 'ROW_SCALE'],
    others: ['ROW_WORDS_BYTES'],
  },
  'Node words': { bytes: NODE_WORDS_BYTES, words: ['NODE_MARK', 'NODE_DUPLICATE'], others: ['NODE_WORDS_BYTES'] },
  'Quantizer root': {
    bytes: QUANTIZER_BYTES,
    words: [
      'QUANTIZER_DIM',
      'QUANTIZER_COMPONENTS_4',
      'QUANTIZER_COMPONENTS_2',
      'QUANTIZER_ROW_BYTES',
      'QUANTIZER_WIDE_BYTES',
      'QUANTIZER_COMPONENTS',
      'QUANTIZER_STEPS',
      'QUANTIZER_VARIANCE',
      'QUANTIZER_WORK',
      'QUANTIZER_SAMPLED',
      'QUANTIZER_LINES',
      'QUANTIZER_LEARNED',
      'QUANTIZER_PARENTS',
      'QUANTIZER_FIRST_4',
      'QUANTIZER_FIRST_2',
    ],
    arrays: { QUANTIZER_ROW_BLOCKS: TABLE_BYTES, QUANTIZER_ORIGINS: 4 * 32 * (29 - 4) },
    others: ['QUANTIZER_BYTES'],
  },
  'Slot plan': { bytes: PLAN_BYTES, words: ['PLAN_COMPONENT', 'PLAN_PARENT', 'PLAN_STEP'], others: ['PLAN_BYTES'] },
  'Column root': {
    bytes: COLUMN_BYTES,
    words: ['COLUMN_COUNT', 'COLUMN_END', 'COLUMN_TABLE', 'COLUMN_EXPIRIES', 'COLUMN_FIRST_EXPIRY', 'COLUMN_VERSION'],
    arrays: { COLUMN_SMALL_TABLE: SMALL_TABLE_BYTES },
    others: ['COLUMN_BYTES'],
  },
  Scratch: {
    bytes: SCRATCH_BYTES,
    words: [
      'ESTIMATOR_QUANTIZER',
      'BEST_SIZE',
      'BEST_MAX',
      'TOUCHED',
      'ALLOWED_END',
      'BRIDGES_LEFT',
      'HOLDER',
      'FENCE',
      'ESTIMATOR_SCALE',
    ],
    arrays: {
      SCRATCH_INPUT: AREA_BYTES,
      SCRATCH_QUERY: AREA_BYTES,
      SCRATCH_VISITED: AREA_BYTES,
      SCRATCH_POOL: AREA_BYTES,
      SCRATCH_BEST: AREA_BYTES,
      SCRATCH_OUTPUT: AREA_BYTES,
      SCRATCH_TEXT: AREA_BYTES,
      SCRATCH_ALLOWED: AREA_BYTES,
      BATCH: 4 * BATCH_ROWS,
      CANDIDATES: KEY_BYTES * (EDGES_0 + 1),
      CHOSEN: KEY_BYTES * EDGES_0,
      SCORES: 4 * BATCH_ROWS,
    },
    others: ['SCRATCH_BYTES', 'SCRATCH_AREAS', 'AREA_CAPACITY', 'BATCH_ROWS'],
  },
};

interface Section {
  /** The constants that the section declares. */
  readonly names: readonly string[];
  /** The free bytes that the section's comment names; undefined for a section that describes no struct. */
  readonly free: string | undefined;
}

const ENGINE = new URL('../../../../src/engine/', import.meta.url);
const SOURCE = readFileSync(new URL('memory/layout.ts', ENGINE), 'utf8');

/** The sections of the source by name. */
function sectionsOf(source: string): Map<string, Section> {
  const [, ...sections] = source.split(/^\/\/ ## /m);
  return new Map(
    sections.map((text) => [
      text.slice(0, text.indexOf('\n')),
      {
        names: Array.from(text.matchAll(/^export const (\w+)/gm), ([, name]) => name as string),
        free: /^\/\/ Free: (.*)\.$/m.exec(text)?.[1],
      },
    ]),
  );
}

/** What is wrong with a struct whose fields are at `offsets`, compared with its section. */
function faultsOf(
  { bytes, words, arrays = {}, others = [] }: LayoutRecord,
  offsets: Readonly<Record<string, number>>,
  section: Section | undefined,
): string[] {
  const sizes = { ...Object.fromEntries(words.map((name) => [name, 4])), ...arrays };
  const fields = Object.entries(sizes)
    .map(([name, size]) => ({ name, size, at: offsets[name] ?? NaN }))
    .sort((a, b) => a.at - b.at);
  const faults: string[] = [];
  const free: string[] = [];
  let end = 0;
  for (const { name, at, size } of [...fields, { name: 'its end', at: bytes, size: 0 }]) {
    if (!(at >= end)) faults.push(`${name} at ${at}, where the field before ends at ${end}`);
    if (at % Math.min(size || 4, 4) !== 0) faults.push(`${name} at ${at} is not aligned`);
    if (at > end) free.push(`${end}-${at - 1}`);
    end = Math.max(end, at + size);
  }
  if (section?.free !== (free.join(', ') || 'none')) faults.push(`free are ${free.join(', ')}, not ${section?.free}`);
  const known = [...fields.map(({ name }) => name), ...others].sort();
  if (String(known) !== String([...(section?.names ?? [])].sort())) faults.push(`its constants are not ${known}`);
  return faults;
}

test('no two fields of a struct overlap, and its free bytes are those that its comment names', () => {
  const sections = sectionsOf(SOURCE);
  for (const [name, record] of Object.entries(RECORDS))
    assert.deepEqual(faultsOf(record, { ...layout }, sections.get(name)), [], name);
  const described = [...sections].filter(([, { free }]) => free !== undefined).map(([name]) => name);
  assert.deepEqual(described.sort(), Object.keys(RECORDS).sort());
});

test('a field that overlaps another, lies beyond the end, or is not described is found', () => {
  const record: LayoutRecord = { bytes: 16, words: ['A', 'B'], arrays: { TABLE: 8 }, others: ['SIZE'] };
  const section: Section = { names: ['A', 'B', 'SIZE', 'TABLE'], free: 'none' };
  const offsets = { A: 0, B: 4, TABLE: 8 };
  assert.deepEqual(faultsOf(record, offsets, section), []);
  assert.match(faultsOf(record, { ...offsets, B: 0 }, section).join(), /A|B at 0, where the field before ends at 4/);
  assert.match(faultsOf(record, { ...offsets, TABLE: 6 }, section).join(), /TABLE at 6, where/);
  assert.match(faultsOf(record, { ...offsets, TABLE: 12 }, section).join(), /its end at 16, where .* ends at 20/);
  assert.match(faultsOf(record, { ...offsets, A: NaN }, section).join(), /A at NaN/);
  assert.match(faultsOf({ ...record, bytes: 20 }, offsets, section).join(), /free are 16-19, not none/);
  assert.match(faultsOf(record, offsets, { ...section, names: [...section.names, 'NEW'] }).join(), /constants are not/);
  const planted = SOURCE.replace('export const ROOT_CHECKED = 116;', 'export const ROOT_CHECKED = 112;');
  const moved = { ...layout, ROOT_CHECKED: 112 };
  assert.notEqual(planted, SOURCE);
  assert.match(
    faultsOf(RECORDS['Index root'] as LayoutRecord, moved, sectionsOf(planted).get('Index root')).join(),
    /ROOT_(CHECKED|TRUSTED_BROAD) at 112, where the field before ends at 116/,
  );
});

test('the table of readers lies between the header and the memory that the arena allocates', () => {
  assert.equal(READERS_AT + layout.READERS_MAX * READER_BYTES, layout.ARENA_START);
  assert.equal(layout.READER_LINES * LINE_BYTES, layout.READERS_MAX * READER_BYTES);
  assert.equal(layout.ARENA_START % LINE_BYTES, 0);
});

/** Structs that leave nothing in an image of the memory, or nothing that is used. */
const PASSING_RECORDS = ['Scratch', 'Slot plan'];
const PASSING_CLASSES = ['Automaton', 'Query', 'State', 'TermRef'];

/** The field types of each kernel class that describes memory. */
function classesOfKernel(): string[] {
  const folder = new URL('kernel/', ENGINE);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
  const sources = files.map((path) => readFileSync(new URL(path, folder), 'utf8'));
  return sources
    .flatMap((source) => Array.from(source.matchAll(/^@unmanaged\n(?:export )?class (\w+) \{\n([^}]*)\}/gm)))
    .filter(([, name]) => !PASSING_CLASSES.includes(name as string))
    .map(([, , fields = '']) => Array.from(fields.matchAll(/^ {2}\w+: (\w+);$/gm), ([, type]) => type).join())
    .sort();
}

test('the structs of the layout are those of the current LAYOUT_VERSION, as checkpoints have them', () => {
  const offsets: Readonly<Record<string, number>> = { ...layout };
  const records = Object.entries(RECORDS)
    .filter(([name]) => !PASSING_RECORDS.includes(name))
    .map(([, { bytes, words, arrays = {} }]) => [
      bytes,
      words.map((name) => offsets[name]),
      Object.entries(arrays).map(([name, size]) => [offsets[name], size]),
    ]);
  const { FIRST_ROWS, FINE_PLACE, EDGES_UP, LEVEL_BITS, LEVEL_MAX, ENTRY_LEVEL_SHIFT, QUEUE_ROWS, WIDE_SCALE } = layout;
  const numbers = [
    FIRST_ROWS,
    FINE_PLACE,
    EDGES_0,
    EDGES_UP,
    LEVEL_BITS,
    LEVEL_MAX,
    ENTRY_LEVEL_SHIFT,
    QUEUE_ROWS,
    WIDE_SCALE,
  ];
  const text = JSON.stringify([layout.LAYOUT_VERSION, records, numbers, classesOfKernel()]);
  assert.equal(
    createHash('sha256').update(text).digest('hex').slice(0, 16),
    '6eb7e2d6b87e2a86',
    'the layout has changed: raise LAYOUT_VERSION, unless images of before are read as they are; then change this digest',
  );
});
