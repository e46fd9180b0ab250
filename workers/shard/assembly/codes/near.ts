// The candidates of a walk over codes: one sorted array, best first, of score 32 | ordinal 31 | expanded 1. Scores are compared,
// ordinals never: equal ones stay in the order of their coming. It stands in the scratch of the thread that searches.
@inline export function nearKey(score: i32, ordinal: u32): i64 {
  return (<i64>score << 32) | <i64>(ordinal << 1);
}

@inline export function nearScore(key: i64): i32 {
  return <i32>(key >> 32);
}

@inline export function nearOrdinal(key: i64): u32 {
  return <u32>key >> 1;
}

/** Puts a key into the sorted array of `size` keys and answers its place; the last one drops out where `keepsSize`. */
@inline export function insertNear(pool: usize, size: u32, keepsSize: bool, key: i64): u32 {
  let at = pool + (<usize>(keepsSize ? size - 1 : size) << 3);
  for (; at > pool; at -= 8) {
    const before = load<i64>(at - 8);
    if (nearScore(before) >= nearScore(key)) break;
    store<i64>(at, before);
  }
  store<i64>(at, key);
  return <u32>((at - pool) >> 3);
}
