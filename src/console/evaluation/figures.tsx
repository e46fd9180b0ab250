// What an evaluation has found: a table of figures with intervals, the queries that a setting loses, and fitted weights.
import { useState } from 'preact/hooks';
import type { JudgedQuery } from '../../api/judgements.js';
import {
  type Figure,
  type Fitted,
  type Row,
  type Scores,
  type Setting,
  adviceOf,
  digits,
  figureText,
} from '../../ranking/side-by-side.js';
import type { At } from '../api.js';
import { Choice } from '../components.tsx';
import { count } from '../format.js';
import { there } from '../state.js';

const queriesText = (queries: number): string => (queries === 1 ? '1 query' : `${count(queries)} queries`);

interface FiguresProps {
  readonly rows: readonly Row[];
  /** Number of queries. */
  readonly queries: number;
  readonly depth: number;
}

export function Figures({ rows, queries, depth }: FiguresProps) {
  return (
    <section aria-label="Figures" class="evaluated">
      <div class="wide-table" tabIndex={0} role="group" aria-label="Table of figures">
        <table>
          <thead>
            <tr>
              <th scope="col">Setting</th>
              <th scope="col">nDCG@10</th>
              <th scope="col">Recall@{depth}</th>
              <th scope="col">MRR</th>
              <th scope="col">Difference of nDCG@10</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ setting, ndcg, recall, mrr, difference }) => (
              <tr>
                <th scope="row">{setting}</th>
                <td>
                  <Interval figure={ndcg} />
                </td>
                <td>
                  <Interval figure={recall} />
                </td>
                <td>
                  <Interval figure={mrr} />
                </td>
                <td>{difference ? <Difference figure={difference} /> : <span class="faint">the first</span>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="faint">
        {queriesText(queries)}; intervals of 95 % by the bootstrap. A difference whose interval has 0 in it may be
        chance.
      </p>
    </section>
  );
}

/** A mean and its interval, as numbers and as a bar from 0 to 1. */
function Interval({ figure }: { figure: Figure }) {
  const { mean, low, high } = figure;
  return (
    <span class="interval" title={figureText(figure)}>
      <strong>{digits(mean)}</strong>{' '}
      <small class="faint">
        {digits(low)}–{digits(high)}
      </small>
      <span class="range" aria-hidden="true">
        <span style={{ left: `${low * 100}%`, width: `${Math.max(1, (high - low) * 100)}%` }} />
        <i style={{ left: `${mean * 100}%` }} />
      </span>
    </span>
  );
}

const signed = (value: number): string => `${value > 0 ? '+' : ''}${digits(value)}`;

function Difference({ figure: { mean, low, high } }: { figure: Figure }) {
  const [tone, words] = low > 0 ? ['good', 'better'] : high < 0 ? ['bad', 'worse'] : ['faint', 'no sure difference'];
  return (
    <>
      <strong class={tone}>{signed(mean)}</strong>{' '}
      <small class="faint">
        {signed(low)} to {signed(high)}
      </small>
      <br />
      <small class={tone}>{words}</small>
    </>
  );
}

interface LossesProps {
  readonly at: At;
  readonly queries: readonly JudgedQuery[];
  readonly settings: readonly (readonly [string, Setting])[];
  /** The scores of each setting, query by query. */
  readonly scores: readonly (readonly Scores[])[];
}

/** Queries that are shown of those that a setting loses. */
const LOSSES_SHOWN = 10;

/** The queries that lose most from the first setting to another one, each with a link that compares the hits. */
export function Losses({ at, queries, settings, scores }: LossesProps) {
  const [chosen, setChosen] = useState(1);
  const other = settings[chosen] ?? settings[1];
  if (!other) return null;
  const place = settings.indexOf(other);
  const lost = queries
    .map(({ text }, i) => ({ text, from: ndcg(scores[0], i), to: ndcg(scores[place], i) }))
    .filter(({ from, to }) => to < from)
    .sort((a, b) => a.to - a.from - (b.to - b.from));
  const [first] = settings as readonly [readonly [string, Setting]];
  return (
    <section aria-label="Queries that lose" class="evaluated losses">
      <h2>Where it loses</h2>
      <Choice
        label={`From ${first[0]} to`}
        value={String(place)}
        choices={settings.slice(1).map(([name], i) => [String(i + 1), name])}
        onChoice={(value) => setChosen(Number(value))}
      />
      <p class="faint">
        {lost.length === 0
          ? 'No query loses.'
          : `nDCG@10 is lower for ${queriesText(lost.length)}${lost.length > LOSSES_SHOWN ? `; the ${LOSSES_SHOWN} that lose most` : ''}:`}
      </p>
      <ol>
        {lost.slice(0, LOSSES_SHOWN).map(({ text, from, to }) => (
          <li>
            <a href={comparison(at, text, first[1], other[1])}>{text}</a>{' '}
            <small class="faint">
              {digits(from)} → {digits(to)}
            </small>
          </li>
        ))}
      </ol>
    </section>
  );
}

const ndcg = (scores: readonly Scores[] | undefined, i: number): number => scores?.[i]?.ndcg ?? 0;

/** The query in the view that compares two settings, or the hits of the other one if it searches another collection. */
function comparison({ collection }: At, q: string, a: Setting, b: Setting): string {
  const further = ({ collection: _, ...fields }: Setting): string => JSON.stringify(fields);
  const [from, to] = [a.collection ?? collection, b.collection ?? collection];
  return from === to
    ? there({ collection: to, view: 'compare', params: { q, 'a.further': further(a), 'b.further': further(b) } })
    : there({ collection: to, view: 'search', params: { q, further: further(b) } });
}

export function FittedWeights({ fitted }: { fitted: Fitted }) {
  const { setting, trainQueries, testQueries, train, test, unfitted, difference } = fitted;
  const fields = JSON.stringify(setting);
  return (
    <section aria-label="Fitted weights" class="card fitted">
      <h2>Fitted weights</h2>
      <p>
        <code>{fields}</code>{' '}
        <button type="button" onClick={() => void navigator.clipboard.writeText(fields)}>
          Copy as search fields
        </button>
      </p>
      <p>
        Chosen by {queriesText(trainQueries)} (nDCG@10 {digits(train)}); on the other {count(testQueries)}:{' '}
        {figureText(test)}, and mode hybrid as it is {figureText(unfitted)}; difference {figureText(difference)}.
      </p>
      <p class={difference.low > 0 ? 'note' : 'note bad'}>{adviceOf(fitted)}</p>
    </section>
  );
}
