// Sorts records of sixteen bytes in place: a key, compared first, and what it stands for. A heap sort: no input is
// slow, and nothing is allocated (Williams 1964). Used by freeze, in the owner's thread.
import { bytesOf, Head, headTermAt } from './head';
import { compareBytes, tailLength } from './terms';

/** `head` tells apart terms with equal keys; without it keys are distinct. */
export function sortRecords(at: usize, count: u32, head: Head | null): void {
  for (let i = count >> 1; i > 0; i--) sinkRecord(at, i - 1, count, head);
  for (let end = count; end > 1; end--) {
    const top = v128.load(at);
    const last = at + ((<usize>(end - 1)) << 4);
    v128.store(at, v128.load(last));
    v128.store(last, top);
    sinkRecord(at, 0, end - 1, head);
  }
}

function sinkRecord(at: usize, from: u32, count: u32, head: Head | null): void {
  let place = from;
  const record = v128.load(at + ((<usize>place) << 4));
  for (let child: u32 = 2 * place + 1; child < count; child = 2 * place + 1) {
    let below = at + ((<usize>child) << 4);
    if (
      child + 1 < count &&
      isBefore(load<u64>(below), load<u64>(below, 8), load<u64>(below, 16), load<u64>(below, 24), head)
    ) {
      child++;
      below += 16;
    }
    if (
      !isBefore(
        v128.extract_lane<u64>(record, 0),
        v128.extract_lane<u64>(record, 1),
        load<u64>(below),
        load<u64>(below, 8),
        head,
      )
    )
      break;
    v128.store(at + ((<usize>place) << 4), v128.load(below));
    place = child;
  }
  v128.store(at + ((<usize>place) << 4), record);
}

/** @inline */
function isBefore(key: u64, value: u64, otherKey: u64, otherValue: u64, head: Head | null): bool {
  if (key != otherKey || !head) return key < otherKey;
  return compareTails(head, <u32>value, <u32>otherValue) < 0;
}

function compareTails(head: Head, a: u32, b: u32): i32 {
  const one = headTermAt(head, a);
  const other = headTermAt(head, b);
  return compareBytes(
    bytesOf(head, one) + 8,
    tailLength(one.length),
    bytesOf(head, other) + 8,
    tailLength(other.length),
  );
}
