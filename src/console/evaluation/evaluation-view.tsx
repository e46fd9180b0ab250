// Search quality by judged queries, for settings side by side: a judgement set, settings, and the figures that they
// reach. The page makes the searches, as `sheaf eval` does. The address keeps the set and the settings.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { JudgedQuery, JudgementSetSummary } from '../../api/judgements.js';
import {
  DEPTH_DEFAULT,
  FITTED_QUERIES_MIN,
  type Fitted,
  type Row,
  type Run,
  SEED_DEFAULT,
  SETTINGS_DEFAULT,
  type Scores,
  type Setting,
  fitWeights,
  rowOf,
  scoresOf,
  searchesToFit,
  settingIn,
} from '../../ranking/side-by-side.js';
import { type At, getJudgementSet, listJudgementSets, search } from '../api.js';
import { ErrorNote } from '../components.tsx';
import { count } from '../format.js';
import { useDraft, useLoaded } from '../hooks.js';
import { go, place } from '../state.js';
import { Figures, FittedWeights, Losses } from './figures.tsx';
import { JudgementSets } from './judgement-sets.tsx';

/** Searches that are under way at a time, which leaves the server to others as well. */
const CONNECTIONS = 4;
/** A redraw for every search would take longer than the search. */
const REDRAW_EVERY = 10;

/** A setting as it is typed. */
interface SettingText {
  readonly name: string;
  readonly fields: string;
}

/** What an evaluation has found. */
export interface Evaluated {
  readonly queries: readonly JudgedQuery[];
  readonly settings: readonly (readonly [string, Setting])[];
  readonly rows: readonly Row[];
  /** The scores of each setting, query by query. */
  readonly scores: readonly (readonly Scores[])[];
}

interface Progress {
  readonly done: number;
  readonly total: number;
}

const DEFAULTS: readonly SettingText[] = Object.entries(SETTINGS_DEFAULT).map(([name, setting]) => ({
  name,
  fields: JSON.stringify(setting),
}));

export function EvaluationView(at: At) {
  const { set: asked = '', settings: askedSettings = '' } = place.value.params;
  const { value, error, reload } = useLoaded(`${at.tenant}/${at.collection}`, (signal) =>
    listJudgementSets(at, signal),
  );
  const sets = value?.sets ?? [];
  const set = sets.find((one) => one.set === asked) ?? sets[0];
  const choose = (name: string) => go({ view: 'evaluation', params: { set: name, settings: askedSettings } });
  return (
    <>
      <ErrorNote error={error} />
      {value && (
        <JudgementSets
          at={at}
          sets={sets}
          chosen={set?.set}
          onChoice={choose}
          onChanged={(name) => (reload(), choose(name))}
        />
      )}
      {set && <SideBySide key={set.set} at={at} set={set} asked={askedSettings} />}
    </>
  );
}

interface SideBySideProps {
  readonly at: At;
  readonly set: JudgementSetSummary;
  /** The settings in the address. */
  readonly asked: string;
}

function SideBySide({ at, set, asked }: SideBySideProps) {
  const [settings, setSettings] = useDraft(asked, textsOf(asked));
  const [found, setFound] = useState<Evaluated>();
  const [fitted, setFitted] = useState<Fitted>();
  const { progress, error, start, stop } = useSearches(at);
  const problem = problemOf(settings);
  const canFit = set.query_count >= FITTED_QUERIES_MIN;
  const evaluate = (event: Event) => {
    event.preventDefault();
    go({ view: 'evaluation', params: { set: set.set, settings: paramOf(settings) } });
    start(set.query_count * settings.length, async (run, signal) => {
      const { queries } = await getJudgementSet(at, set.set, signal);
      setFound(await evaluated(run, settings, queries));
    });
  };
  const fit = () =>
    start(searchesToFit(set.query_count), async (run, signal) => {
      const { queries } = await getJudgementSet(at, set.set, signal);
      setFitted(await fitWeights(run, queries, SEED_DEFAULT));
    });
  return (
    <>
      <form class="evaluation" onSubmit={evaluate}>
        <SettingList settings={settings} onChange={setSettings} />
        {problem !== undefined && <p class="note bad">{problem}</p>}
        <div class="tools">
          <button type="submit" class="main" disabled={progress !== undefined || problem !== undefined}>
            Evaluate
          </button>
          <button type="button" disabled={progress !== undefined || !canFit} onClick={fit}>
            Fit weights
          </button>
          {progress && (
            <button type="button" onClick={stop}>
              Stop
            </button>
          )}
        </div>
        <p class="faint">
          {canFit
            ? 'Fitting tries fusion methods and weights on one half of the queries, and tests the best on the other half.'
            : `Weights are fitted on one half of the queries and tested on the other, which takes at least ${FITTED_QUERIES_MIN} queries.`}
        </p>
        {progress && (
          <p role="status">
            <progress max={progress.total} value={progress.done} aria-label="Searches done" /> {count(progress.done)} of{' '}
            {count(progress.total)} searches
          </p>
        )}
      </form>
      <ErrorNote error={error} />
      {found && <Figures rows={found.rows} queries={found.queries.length} depth={DEPTH_DEFAULT} />}
      {fitted && <FittedWeights fitted={fitted} />}
      {found && <Losses at={at} {...found} />}
    </>
  );
}

interface Searches {
  /** Absent if nothing is under way. */
  readonly progress?: Progress | undefined;
  readonly error?: unknown;
  /** Runs `work`, which makes `total` searches. */
  start(total: number, work: (run: Run, signal: AbortSignal) => Promise<void>): void;
  stop(): void;
}

/** The searches of an evaluation, which end with the view. */
function useSearches(at: At): Searches {
  const [state, setState] = useState<Pick<Searches, 'progress' | 'error'>>({});
  const controller = useRef<AbortController>();
  useEffect(() => () => controller.current?.abort(), []);
  const start: Searches['start'] = (total, work) => {
    const { signal } = (controller.current = new AbortController());
    let done = 0;
    const run: Run = {
      connections: CONNECTIONS,
      ask: async ({ collection = at.collection, ...fields }, q) => {
        const body = { ...fields, q, k: DEPTH_DEFAULT, with_text: false };
        const { matches } = await search({ tenant: at.tenant, collection }, body, signal);
        return matches.map(({ id, meta }) => (meta.docid as string | undefined) ?? id);
      },
      searched: () => ++done % REDRAW_EVERY === 0 && setState({ progress: { done, total } }),
    };
    setState({ progress: { done, total } });
    work(run, signal).then(
      () => setState({}),
      (error: unknown) => setState(signal.aborted ? {} : { error }),
    );
  };
  return { ...state, start, stop: () => controller.current?.abort() };
}

interface SettingListProps {
  readonly settings: readonly SettingText[];
  readonly onChange: (settings: readonly SettingText[]) => void;
}

function SettingList({ settings, onChange }: SettingListProps) {
  const change = (at: number, by: Partial<SettingText>) =>
    onChange(settings.map((one, i) => (i === at ? { ...one, ...by } : one)));
  return (
    <fieldset class="side-by-side">
      <legend>Settings side by side</legend>
      <p class="faint">
        Each has a name and the fields of a search as JSON, without <code>q</code> and <code>k</code>. With{' '}
        <code>"collection"</code> it searches another collection of the tenant with the same document ids, for instance
        one with another embedder or chunking; with <code>"space": "staged"</code> the space that a reindex builds.
        Differences are to the first.
      </p>
      {settings.map(({ name, fields }, i) => (
        <div class="setting">
          <input
            aria-label={`Name of setting ${i + 1}`}
            value={name}
            size={12}
            onInput={({ currentTarget }) => change(i, { name: currentTarget.value })}
          />
          <input
            class="code"
            aria-label={`Fields of setting ${i + 1}`}
            value={fields}
            spellcheck={false}
            onInput={({ currentTarget }) => change(i, { fields: currentTarget.value })}
          />
          <button
            type="button"
            class="plain"
            aria-label={`Remove setting ${name}`}
            disabled={settings.length === 1}
            onClick={() => onChange(settings.filter((_, other) => other !== i))}
          >
            ✕
          </button>
        </div>
      ))}
      <button
        type="button"
        disabled={settings.length >= SETTINGS_MAX}
        onClick={() => onChange([...settings, { name: `setting ${settings.length + 1}`, fields: '{"mode":"hybrid"}' }])}
      >
        Add a setting
      </button>
    </fieldset>
  );
}

/** More would not fit side by side. */
const SETTINGS_MAX = 8;

/** What is wrong with the settings; undefined if nothing is. */
function problemOf(settings: readonly SettingText[]): string | undefined {
  const names = settings.map(({ name }) => name.trim());
  if (names.some((name) => name === '')) return 'Every setting needs a name.';
  const [twice] = names.filter((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) return `Two settings have the name ${twice}.`;
  const bad = settings.find(({ fields }) => !settingIn(fields));
  return bad && `The fields of “${bad.name}” should be a JSON object, such as {"mode":"hybrid"}.`;
}

/** The settings in the address, as a list of pairs; the defaults if there are none. */
function textsOf(param: string): readonly SettingText[] {
  const pairs: unknown = param === '' ? [] : tryParse(param);
  if (!Array.isArray(pairs) || pairs.length === 0) return DEFAULTS;
  const texts = pairs.flatMap((pair): SettingText[] =>
    Array.isArray(pair) && typeof pair[0] === 'string' && typeof pair[1] === 'string'
      ? [{ name: pair[0], fields: pair[1] }]
      : [],
  );
  return texts.length > 0 ? texts.slice(0, SETTINGS_MAX) : DEFAULTS;
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const paramOf = (settings: readonly SettingText[]): string =>
  JSON.stringify(settings) === JSON.stringify(DEFAULTS)
    ? ''
    : JSON.stringify(settings.map(({ name, fields }) => [name, fields]));

/** Evaluates each setting in turn, so that none slows the others. */
async function evaluated(run: Run, texts: readonly SettingText[], queries: readonly JudgedQuery[]): Promise<Evaluated> {
  const settings = texts.map(({ name, fields }) => [name.trim(), settingIn(fields) as Setting] as const);
  const scores: Scores[][] = [];
  for (const [, setting] of settings) scores.push(await scoresOf(run, setting, queries));
  const rows = settings.map(([name], i) =>
    rowOf(name, scores[i] as Scores[], i > 0 ? scores[0] : undefined, SEED_DEFAULT),
  );
  return { queries, settings, rows, scores };
}
