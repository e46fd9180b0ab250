// What leads a walk: the scores of nodes for one query, as whole numbers of which a higher one is nearer. They come
// from codes, one line of memory a node, or, where an index has none, from its rows. Nodes are scored in batches, so
// that their loads overlap. Any thread.
import { GUIDE_CODES, GUIDE_SCALE, LINE_BYTES, ROOT_CODES, ROOT_ROW_BYTES, SCORES, TOUCHED } from '../layout';
import { CODES_AXES_2, CODES_AXES_4, CODES_ROW_BYTES } from '../codes/layout';
import { batched, touch } from './batch';
import { codeAt } from './codes/codes';
import { foldQuery } from './codes/fold';
import { fourScores } from './codes/score';
import { cosine } from './distance';
import { foldedIn, queryIn } from './query';

/** What a cosine of 1 scores where rows lead. */
const ROW_UNIT: f32 = 1073741824;

/** Takes the codes as they are now for the walks to the query in the scratch; `byRows` forgoes them. */
export function beginGuide(scratch: usize, root: usize, byRows: bool): void {
  const codes: usize = byRows ? 0 : atomic.load<u32>(root, ROOT_CODES);
  store<u32>(scratch, <u32>codes, GUIDE_CODES);
  if (codes) store<f32>(scratch, foldQuery(codes, queryIn(scratch), foldedIn(scratch, root)), GUIDE_SCALE);
}

/** Scores the first `count` of BATCH. @inline */
export function scoreBatch(scratch: usize, root: usize, count: u32): void {
  const codes: usize = load<u32>(scratch, GUIDE_CODES);
  if (codes) scoreCodes(scratch, codes, foldedIn(scratch, root), count);
  else scoreRows(scratch, root, count);
}

/** @inline */
export function batchedScore(scratch: usize, place: u32): i32 {
  return load<i32>(scratch + ((<usize>place) << 2), SCORES);
}

function scoreRows(scratch: usize, root: usize, count: u32): void {
  touch(scratch, root, count, load<u32>(root, ROOT_ROW_BYTES));
  for (let i: u32 = 0; i < count; i++)
    store<i32>(
      scratch + ((<usize>i) << 2),
      <i32>(cosine(root, queryIn(scratch), batched(scratch, i)) * ROW_UNIT),
      SCORES,
    );
}

/** Codes are found once, when they are touched: their addresses stand where their scores will. @inline */
function scoreCodes(scratch: usize, codes: usize, folded: usize, count: u32): void {
  touchCodes(scratch, codes, count);
  const bytes4: usize = load<u32>(codes, CODES_AXES_4) >> 1;
  const bytes2: usize = load<u32>(codes, CODES_AXES_2) >> 2;
  const last = count - 1;
  for (let i: u32 = 0; i < count; i += 4) {
    const a = touched(scratch, i);
    const b = touched(scratch, min(i + 1, last));
    const c = touched(scratch, min(i + 2, last));
    const d = touched(scratch, min(i + 3, last));
    v128.store(scratch + ((<usize>i) << 2), fourScores(a, b, c, d, folded, bytes4, bytes2), SCORES);
  }
}

/** @inline */
function touched(scratch: usize, place: u32): usize {
  return load<u32>(scratch + ((<usize>place) << 2), SCORES);
}

/** Brings the codes of the first `count` of BATCH near. @inline */
function touchCodes(scratch: usize, codes: usize, count: u32): void {
  let bits: u32 = 0;
  const rowBytes: usize = load<u32>(codes, CODES_ROW_BYTES);
  for (let i: u32 = 0; i < count; i++) {
    const code = codeAt(codes, batched(scratch, i));
    store<u32>(scratch + ((<usize>i) << 2), <u32>code, SCORES);
    bits ^= load<u8>(code);
    if (rowBytes > <usize>LINE_BYTES) bits ^= load<u8>(code + LINE_BYTES);
  }
  store<u32>(scratch, bits, TOUCHED);
}
