// The console: top bar, collections on the left, and the view that the address names. Views except the first are
// fetched on demand.
import { type ComponentType, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { SheafUnreachable } from '../client/errors.js';
import { type Page, type Place, pageOf } from './address.js';
import type { At } from './api.js';
import { isListed } from './collections/catalog.js';
import { CollectionNav } from './collections/collection-nav.tsx';
import { ErrorNote } from './components.tsx';
import { DocumentsView } from './documents/documents-view.tsx';
import { follow } from './events.js';
import { Help, KeyDialog } from './shell/dialogs.tsx';
import { PAGE_WORDS, ServerTabs, Tabs, TopBar } from './shell/top-bar.tsx';
import { listenToKeys, showsHelp } from './shortcuts.js';
import { apiKey, asksForKey, place, returns, showTheme } from './state.js';

// A component that is fetched when it is first shown, to keep the first page small. A failed fetch is retried when the
// server is reachable again.

function later<P extends object>(fetchIt: () => Promise<ComponentType<P>>): ComponentType<P> {
  let fetched: ComponentType<P> | undefined;
  return function Later(props: P) {
    const [state, setState] = useState<{ error?: unknown }>({});
    useEffect(() => {
      if (fetched) return;
      fetchIt().then(
        (component) => {
          fetched = component;
          setState({});
        },
        () => setState({ error: new SheafUnreachable(location.origin, 'this view could not be fetched') }),
      );
    }, [returns.value]);
    const Fetched = fetched;
    if (Fetched) return <Fetched {...props} />;
    return state.error === undefined ? <p class="faint">Loading …</p> : <ErrorNote error={state.error} />;
  };
}

const SearchView = later<At>(() => import('./search/search-view.tsx').then(({ SearchView: view }) => view));
const CompareView = later<At>(() => import('./search/compare-view.tsx').then(({ CompareView: view }) => view));
const EvaluationView = later<At>(() =>
  import('./evaluation/evaluation-view.tsx').then(({ EvaluationView: view }) => view),
);
const QueriesView = later<At>(() => import('./query-log.tsx').then(({ QueriesView: view }) => view));
const ReindexView = later<At>(() => import('./reindex.tsx').then(({ ReindexView: view }) => view));
const MapView = later<At>(() => import('./map/map-view.tsx').then(({ MapView: view }) => view));
const SettingsView = later<At>(() =>
  import('./collections/collection-settings.tsx').then(({ SettingsView: view }) => view),
);
interface OfTenant {
  readonly tenant: string;
}

const Overview = later<OfTenant>(() => import('./overview.tsx').then(({ Overview: view }) => view));

const TenantsView = later<OfTenant>(() => import('./server/tenants-view.tsx').then(({ TenantsView: view }) => view));
const BackupsView = later<OfTenant>(() => import('./server/backups-view.tsx').then(({ BackupsView: view }) => view));
const ClusterView = later<OfTenant>(() => import('./server/cluster-view.tsx').then(({ ClusterView: view }) => view));

const PAGES = { overview: Overview, tenants: TenantsView, backups: BackupsView, cluster: ClusterView };

const VIEWS = {
  documents: DocumentsView,
  search: SearchView,
  compare: CompareView,
  evaluation: EvaluationView,
  queries: QueriesView,
  reindex: ReindexView,
  map: MapView,
  settings: SettingsView,
};

function App() {
  const { tenant, collection, view } = place.value;
  useFollowing(tenant, collection);
  useEffect(
    () =>
      void (document.title = `${collection === undefined ? PAGE_WORDS[pageOf(place.value)] : `${collection}: ${view}`} · Sheaf`),
    [collection, view],
  );
  return (
    <>
      <a class="skip" href="#main" onClick={toMain}>
        To the content
      </a>
      <TopBar />
      <div class="frame">
        <CollectionNav tenant={tenant} />
        <main id="main" tabIndex={-1}>
          {collection === undefined ? (
            <Server tenant={tenant} page={pageOf(place.value)} />
          ) : (
            <Collection tenant={tenant} collection={collection} view={view} />
          )}
        </main>
      </div>
      {asksForKey.value && <KeyDialog />}
      {showsHelp.value && <Help />}
    </>
  );
}

/** Follows the events of the open collection with the current key. */
function useFollowing(tenant: string, collection: string | undefined): void {
  const isThere = isListed(collection);
  useEffect(() => {
    if (collection === undefined || !isThere) return undefined;
    const controller = new AbortController();
    void follow({ tenant, collection }, controller.signal);
    return () => controller.abort();
  }, [tenant, collection, isThere, apiKey.value]);
}

function Server({ tenant, page }: { tenant: string; page: Page }) {
  const View = PAGES[page];
  return (
    <>
      <ServerTabs page={page} />
      <View key={`${tenant}/${page}`} tenant={tenant} />
    </>
  );
}

function Collection({ tenant, collection, view }: At & Pick<Place, 'view'>) {
  const View = VIEWS[view];
  return (
    <>
      <Tabs collection={collection} view={view} />
      {!isListed(collection) && (
        <p class="note">
          Tenant {tenant} has no collection “{collection}”. Its first document creates it, with the default settings of
          the server.
        </p>
      )}
      <View key={`${tenant}/${collection}/${view}`} tenant={tenant} collection={collection} />
    </>
  );
}

/**
 * Moves the focus by script, because following the link would change the address, which holds the place in the console.
 */
function toMain(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

// Entry point of the console, bundled by scripts/console.mjs: renders the page and listens to the keyboard.

showTheme();
listenToKeys();
render(<App />, document.getElementById('console') as HTMLElement);
