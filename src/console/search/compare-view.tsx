// One query searched in two ways, side by side: common hits, moved ranks, and time. The address stores both settings,
// with the prefixes `a.` and `b.`.
import type { SearchAnswer } from '../../api/search.js';
import { queryHint } from '../collections/catalog.js';
import { useDraft, useLoaded, useQueryFocus } from '../hooks.js';
import { ErrorNote } from '../components.tsx';
import { rankDiff, type Against } from './results.js';
import { ask } from './ask.js';
import { paramsOf, settingsOf, type Settings } from './settings.js';
import type { At, Told } from '../api.js';
import { go, place } from '../state.js';
import { DiffSummary, HitList, Waterfall } from './hits.tsx';
import { SettingsForm } from './settings-form.tsx';

type Sides = readonly [Settings, Settings];

export function CompareView(at: At) {
  const { q = '' } = place.value.params;
  const asked = sidesOf(place.value.params);
  const key = JSON.stringify([q, asked]);
  const [form, setForm] = useDraft(key, { q, sides: asked });
  const { value, error } = useLoaded(`${at.tenant}/${at.collection}/${key}`, async (signal) =>
    q.trim() ? bothOf(at, q, asked, signal) : undefined,
  );
  const [a, b] = form.sides;
  const field = useQueryFocus(form.q);
  return (
    <form
      role="search"
      onSubmit={(event) => (event.preventDefault(), go({ view: 'compare', params: paramsOfBoth(form.q, form.sides) }))}
    >
      <div class="tools">
        <input
          type="search"
          class="query"
          data-query
          ref={field}
          placeholder={queryHint()}
          aria-label="Query"
          value={form.q}
          onInput={({ currentTarget }) => setForm({ ...form, q: currentTarget.value })}
        />
        <button type="submit" class="main">
          Compare
        </button>
      </div>
      <ErrorNote error={error} />
      {value && (
        <DiffSummary
          a={idsOf(value[0])}
          b={idsOf(value[1])}
          aMs={value[0].latency_ms}
          bMs={value[1].latency_ms}
          places={PLACES}
        />
      )}
      <div class="sides">
        <Side
          name="A"
          settings={a}
          onChange={(change) => setForm({ ...form, sides: [{ ...a, ...change }, b] })}
          answer={value?.[0]}
          against={against(value, 0)}
          query={q}
        />
        <Side
          name="B"
          settings={b}
          onChange={(change) => setForm({ ...form, sides: [a, { ...b, ...change }] })}
          answer={value?.[1]}
          against={against(value, 1)}
          query={q}
        />
      </div>
    </form>
  );
}

/** Both settings. By default, mode hybrid is compared with the collection's mode. */
function sidesOf(params: Readonly<Record<string, string>>): Sides {
  const isNew = !Object.keys(params).some((name) => name.startsWith('a.') || name.startsWith('b.'));
  return [settingsOf(params, 'a.'), { ...settingsOf(params, 'b.'), ...(isNew && { mode: 'hybrid' }) }];
}

const paramsOfBoth = (q: string, [a, b]: Sides): Record<string, string> => ({
  ...paramsOf({ ...a, q: '' }, 'a.'),
  ...paramsOf({ ...b, q: '' }, 'b.'),
  'a.k': a.k,
  q,
});

/** Runs both searches sequentially, so that neither slows the other. */
async function bothOf(
  at: At,
  q: string,
  [a, b]: Sides,
  signal: AbortSignal,
): Promise<[Told<SearchAnswer>, Told<SearchAnswer>]> {
  return [await ask(at, { ...a, q }, signal), await ask(at, { ...b, q }, signal)];
}

type Answers = readonly [SearchAnswer, SearchAnswer];

function against(answers: Answers | undefined, shown: 0 | 1): Against | undefined {
  if (!answers) return undefined;
  const [own, other] = [answers[shown], answers[1 - shown] as SearchAnswer];
  return { diff: rankDiff(idsOf(own), idsOf(other)), places: PLACES, isFirst: shown === 0 };
}

const PLACES = ['in A', 'in B'] as const;

const idsOf = ({ matches }: SearchAnswer): string[] => matches.map(({ id }) => id);

interface SideProps {
  readonly name: string;
  readonly settings: Settings;
  readonly onChange: (change: Partial<Settings>) => void;
  readonly answer: Told<SearchAnswer> | undefined;
  readonly against: Against | undefined;
  readonly query: string;
}

function Side({ name, settings, onChange, answer, against, query }: SideProps) {
  return (
    <section class="card" aria-label={`Side ${name}`}>
      <h2>{name}</h2>
      <details class="fold" open={answer === undefined}>
        <summary>
          {settings.mode || 'the collection’s mode'}, {settings.k} hits
        </summary>
        <SettingsForm settings={settings} onChange={onChange} />
      </details>
      {answer && <Waterfall timing={answer.timing} serverMs={answer.latency_ms} roundMs={answer.round_ms} />}
      {answer && <HitList hits={answer.matches} query={query} against={against} />}
    </section>
  );
}
