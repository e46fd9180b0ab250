// How much two lists of hits have in common, in one line.
// A part of comparisons and of replays.
import { ms } from '../parts/words.js';
import { rankDiff } from '../plain/rank-diff.js';

interface Props {
  readonly a: readonly string[];
  readonly b: readonly string[];
  readonly aMs: number | undefined;
  readonly bMs: number | undefined;
}

export function DiffSummary({ a, b, aMs, bMs }: Props) {
  const { overlap, shift } = rankDiff(a, b);
  return (
    <dl class="figures" aria-label="Difference">
      <Figure name="in both" value={`${Math.round(overlap * 100)} %`} />
      <Figure name="mean move" value={shift === null ? '–' : `${shift.toFixed(1)} ranks`} />
      <Figure name="same first" value={a.length > 0 && a[0] === b[0] ? 'yes' : 'no'} />
      <Figure name="time" value={`${aMs === undefined ? '–' : ms(aMs)} and ${bMs === undefined ? '–' : ms(bMs)}`} />
    </dl>
  );
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
