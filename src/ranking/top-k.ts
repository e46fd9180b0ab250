// The k best with all that equal the k-th: a ranking that goes on to break ties by other means needs every one of them.
// Used by WordIndex and VectorIndex.
export interface Ranked {
  readonly count: number;
  /** Best first. */
  readonly scores: Float32Array | Float64Array;
}

/** Asks for more and more until the k-th best and all that equal it are there. `first` cuts an answer. */
export function withTies<A extends Ranked>(
  k: number,
  rank: (depth: number) => A,
  first: (answer: A, count: number) => A,
): A {
  for (let depth = k + 1; ; depth *= 4) {
    const answer = rank(depth);
    let end = Math.min(k, answer.count);
    while (end < answer.count && answer.scores[end] === answer.scores[k - 1]) end++;
    if (end < answer.count || answer.count < depth) return first(answer, end);
  }
}
