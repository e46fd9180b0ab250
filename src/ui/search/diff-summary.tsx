// How much two lists of hits have in common, in one line.
// A part of comparisons and of replays.
import { Term } from '../parts/term.tsx';
import { ms } from '../parts/words.js';
import { rankDiff } from '../plain/rank-diff.js';

interface Props {
  readonly a: readonly string[];
  readonly b: readonly string[];
  readonly aMs: number | undefined;
  readonly bMs: number | undefined;
  /** What each list is called, such as `in A`. */
  readonly places: readonly [string, string];
}

export function DiffSummary({ a, b, aMs, bMs, places }: Props) {
  const { overlap, shift } = rankDiff(a, b);
  return (
    <>
      <dl class="figures" aria-label="Difference">
        <Term name="in both">{`${Math.round(overlap * 100)} %`}</Term>
        <Term name="mean move">{shift === null ? '–' : `${shift.toFixed(1)} ranks`}</Term>
        <Term name="same first">{a.length > 0 && a[0] === b[0] ? 'yes' : 'no'}</Term>
        <Term name="time">{`${aMs === undefined ? '–' : ms(aMs)} and ${bMs === undefined ? '–' : ms(bMs)}`}</Term>
      </dl>
      <p class="faint">
        Beside each hit: its rank {places[0]} → {places[1]}.
      </p>
    </>
  );
}
