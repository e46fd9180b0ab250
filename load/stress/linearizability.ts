// Checks whether what clients saw of one document is possible on a single machine that makes one change after the other:
// the algorithm of Wing and Gong (1993) with the memory of visited states by Lowe (2017), as in Porcupine. Pure.

/** What a client asked for and heard, in the time of one clock. */
export interface Operation {
  readonly kind: 'put' | 'get';
  /** The text that was put, or that was read; undefined if a read found no document. */
  readonly text: string | undefined;
  /** The version that the answer told of; undefined if there was no answer, or nothing was found. */
  readonly version: number | undefined;
  readonly calledAtMs: number;
  /** When the answer came; Infinity for a put without one, which may be made at any later time, or never. */
  readonly answeredAtMs: number;
}

/** What the document is after some operations. */
interface State {
  readonly version: number;
  readonly text: string | undefined;
}

const NOTHING: State = { version: 0, text: undefined };

/** The state after an operation; undefined if it cannot have had the answer that it had. */
function after(state: State, { kind, text, version }: Operation): State | undefined {
  if (kind === 'get') return state.text === text && (version ?? 0) === state.version ? state : undefined;
  const next = { version: state.version + 1, text };
  return version === undefined || version === next.version ? next : undefined;
}

/** Whether an order of the operations explains all answers. An operation comes after those that were answered before it. */
export function isLinearizable(operations: readonly Operation[]): boolean {
  const all = [...operations].sort((a, b) => a.calledAtMs - b.calledAtMs);
  const isDone = all.map(() => false);
  const visited = new Set<string>();
  const mustBeDone = all.filter(({ answeredAtMs }) => answeredAtMs !== Infinity).length;

  const extend = (state: State, done: number): boolean => {
    if (done === mustBeDone) return true;
    const key = `${isDone.map(Number).join('')} ${state.version} ${state.text}`;
    if (visited.has(key)) return false;
    visited.add(key);
    // Whatever was called after another one was answered comes after it.
    let latestMs = Infinity;
    for (const [i, { calledAtMs, answeredAtMs }] of all.entries()) {
      if (calledAtMs > latestMs) break;
      if (isDone[i]) continue;
      latestMs = Math.min(latestMs, answeredAtMs);
    }
    for (const [i, operation] of all.entries()) {
      if (operation.calledAtMs > latestMs) break;
      if (isDone[i]) continue;
      const next = after(state, operation);
      if (!next) continue;
      isDone[i] = true;
      if (extend(next, done + Number(operation.answeredAtMs !== Infinity))) return true;
      isDone[i] = false;
    }
    return false;
  };

  return extend(NOTHING, 0);
}
