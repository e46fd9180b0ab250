// Where the time of a search went: a bar for each phase, on one axis, with its milliseconds as text.
// A part of the search view and of comparisons.
import type { SearchTiming } from '../../contract/resources.js';
import { ms } from '../parts/words.js';
import { barsOf } from '../plain/phases.js';

interface Props {
  readonly timing: SearchTiming | undefined;
  readonly serverMs: number;
  readonly roundMs: number;
}

export function Waterfall({ timing, serverMs, roundMs }: Props) {
  const share = (value: number): string => `${(100 * value) / roundMs}%`;
  return (
    <table class="waterfall" aria-label="Time of the search">
      <tbody>
        {barsOf(timing, serverMs, roundMs).map(({ name, start, length, isPart }) => (
          <tr class={isPart && 'part'}>
            <th scope="row">{name}</th>
            <td class="track">
              <span
                class={`time ${name.replace(/ /g, '-')}`}
                style={{ marginLeft: share(start), width: share(length) }}
              />
            </td>
            <td class="number">{ms(length)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
