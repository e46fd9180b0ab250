// The top bar: server health, tenant, API key, theme, help.
import { useEffect, useState } from 'preact/hooks';
import { PAGES, type Page, VIEWS, type View } from '../address.js';
import { health, listTenants, whoAmI } from '../api.js';
import { isLive } from '../events.js';
import type { WhoAmI } from '../../api/tenants.js';
import { useLoaded } from '../hooks.js';
import { showsHelp } from '../shortcuts.js';
import {
  apiKey,
  asksForKey,
  breaks,
  judgedKey,
  nextTheme,
  overviewOf,
  place,
  returns,
  theme,
  there,
  useTheme,
} from '../state.js';

const HEALTH_MS = 2000;
/** A server that has not answered after this time counts as unreachable. */
const ANSWER_MS = 4000;
const READY = 'ready';
const GONE = 'no answer';
const MARKS: Readonly<Record<string, string>> = { ready: 'good', asking: 'faint' };
const SIGNS = { system: '◐', light: '☀', dark: '☾' };

export function TopBar() {
  const { value: caller } = useLoaded('whoami', (signal) => whoAmI(signal).catch(() => undefined));
  return (
    <header class="bar">
      <a class="brand" href={overviewOf(place.value.tenant)}>
        Sheaf
      </a>
      <HealthMark />
      <TenantField caller={caller} />
      <span class="grow" />
      <button type="button" class="plain" onClick={() => (asksForKey.value = true)} title={keyTitle(caller)}>
        <KeyWords />
      </button>
      <button
        type="button"
        class="plain"
        onClick={() => useTheme(nextTheme())}
        title={`Colours: ${theme.value} (t)`}
        aria-label={`Colours: ${theme.value}`}
      >
        {SIGNS[theme.value]}
      </button>
      <button
        type="button"
        class="plain"
        onClick={() => (showsHelp.value = true)}
        title="Keyboard shortcuts (?)"
        aria-label="Keyboard shortcuts"
      >
        ?
      </button>
    </header>
  );
}

/** The tick means that the server has accepted the key. */
function KeyWords() {
  const key = apiKey.value;
  const judged = judgedKey.value;
  if (!key || judged?.key !== key) return <>Key{key && ' …'}</>;
  return judged.isGood ? <>Key ✓</> : <span class="bad">Key rejected</span>;
}

function HealthMark() {
  const [state, setState] = useState<{ words: string; version?: string }>({ words: 'asking' });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    let before = READY;
    let isAsking = false;
    const ask = async (): Promise<void> => {
      clearTimeout(timer);
      isAsking = true;
      const { status, version } = await health(AbortSignal.timeout(ANSWER_MS)).catch(() => ({
        status: GONE,
        version: undefined,
      }));
      isAsking = false;
      setState({ words: status, ...(version !== undefined && { version }) });
      // A server that has just started answers but refuses requests until it is ready, so it counts as back twice.
      if (before !== READY && status !== before && status !== GONE) returns.value += 1;
      before = status;
      timer = setTimeout(() => void ask(), HEALTH_MS);
    };
    // Asks at once when something has broken.
    const stopListening = breaks.subscribe(() => void (isAsking || before === GONE || ask()));
    return () => {
      stopListening();
      clearTimeout(timer);
    };
  }, []);
  return (
    <span class={`mark ${MARKS[state.words] ?? 'bad'}`} role="status" title={state.version && `Sheaf ${state.version}`}>
      {state.words}
    </span>
  );
}

/** What the key of this session permits, for the title of its button. */
function keyTitle(caller: WhoAmI | undefined): string {
  const change = 'Enter an API key (K)';
  if (caller === undefined || !apiKey.value) return change;
  if (caller.admin) return `The admin key permits everything. ${change}`;
  const parts = [
    `Key ${caller.name}: ${caller.scopes.join(', ')}`,
    caller.collections && `only ${caller.collections.join(', ')}`,
    caller.filtered && 'with filters of its own',
  ];
  return `${parts.filter(Boolean).join('; ')}. ${change}`;
}

/**
 * The tenants of the key are offered, and its own is chosen where the address names one that it does not permit. Only the
 * admin may list all tenants.
 */
function TenantField({ caller }: { caller: WhoAmI | undefined }) {
  const own = caller?.tenants ?? undefined;
  const { value: all } = useLoaded(`tenants ${caller?.admin ?? ''}`, async (signal) =>
    caller === undefined || own ? undefined : listTenants(signal).catch(() => undefined),
  );
  const { tenant } = place.value;
  useEffect(() => {
    if (own?.[0] !== undefined && !own.includes(tenant)) location.hash = overviewOf(own[0]);
  }, [caller, tenant]);
  const choose = (chosen: string) => {
    if (chosen.trim() && chosen !== tenant) location.hash = overviewOf(chosen.trim());
  };
  return (
    <label class="tenant">
      <span class="label">Tenant</span>
      <input
        list="tenants"
        value={tenant}
        size={12}
        spellcheck={false}
        autocomplete="off"
        readOnly={own?.length === 1}
        onFocus={({ currentTarget }) => currentTarget.select()}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
      />
      <datalist id="tenants">
        {(own ?? all?.tenants)?.map((each) => (
          <option value={each} />
        ))}
      </datalist>
    </label>
  );
}

// Links to the views of a collection, below its name.

const WORDS: Readonly<Record<View, string>> = {
  documents: 'Documents',
  search: 'Search',
  compare: 'Compare',
  evaluation: 'Evaluation',
  queries: 'Query log',
  reindex: 'Reindex',
  map: 'Map',
  settings: 'Settings',
};

export const PAGE_WORDS: Readonly<Record<Page, string>> = {
  overview: 'Overview',
  tenants: 'Tenants and keys',
  backups: 'Backups',
  cluster: 'Cluster',
};

/** The pages of the server. All but the first are for the admin. */
export function ServerTabs({ page }: { page: Page }) {
  const { value: caller } = useLoaded('whoami', (signal) => whoAmI(signal).catch(() => undefined));
  return (
    <header class="place">
      <h1>{PAGE_WORDS[page]}</h1>
      {(caller?.admin === true || page !== 'overview') && (
        <nav class="tabs" aria-label="Pages of the server">
          {PAGES.map((each) => (
            <a
              href={there({ params: each === 'overview' ? {} : { page: each } })}
              aria-current={each === page ? 'page' : undefined}
            >
              {PAGE_WORDS[each]}
            </a>
          ))}
        </nav>
      )}
    </header>
  );
}

export function Tabs({ collection, view }: { collection: string; view: View }) {
  return (
    <header class="place">
      <h1>
        {collection}
        {isLive.value && (
          <span class="live" title="Changes of the collection are shown live">
            live
          </span>
        )}
      </h1>
      <nav class="tabs" aria-label="Views of the collection">
        {VIEWS.map((each) => (
          <a href={there({ view: each })} aria-current={each === view ? 'page' : undefined}>
            {WORDS[each]}
          </a>
        ))}
      </nav>
    </header>
  );
}
