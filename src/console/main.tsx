// The frame of the console: the bar at the top, the collections at the left, and the view that the address names.
// Rendered by main.tsx. Each view but the first is fetched when it is wanted.
import { type ComponentType, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { SheafUnreachable } from '../client/errors.js';
import type { Place } from './address.js';
import type { At } from './api.js';
import { isListed } from './collections/catalog.js';
import { CollectionNav } from './collections/collection-nav.tsx';
import { ErrorNote } from './components.tsx';
import { DocumentsView } from './documents/documents-view.tsx';
import { follow } from './events.js';
import { Help, KeyDialog } from './shell/dialogs.tsx';
import { Tabs, TopBar } from './shell/top-bar.tsx';
import { listenToKeys, showsHelp } from './shortcuts.js';
import { apiKey, asksForKey, place, returns, showTheme } from './state.js';

// A component that is fetched when it is first shown, so that the first page stays small.
// Used by the shell for each view. Where that fails it is tried again once the server is back.

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
const QueriesView = later<At>(() => import('./query-log.tsx').then(({ QueriesView: view }) => view));
const ReindexView = later<At>(() => import('./reindex.tsx').then(({ ReindexView: view }) => view));
const MapView = later<At>(() => import('./map/map-view.tsx').then(({ MapView: view }) => view));
const SettingsView = later<At>(() =>
  import('./collections/collection-settings.tsx').then(({ SettingsView: view }) => view),
);
const Overview = later<{ tenant: string }>(() => import('./overview.tsx').then(({ Overview: view }) => view));

const VIEWS = {
  documents: DocumentsView,
  search: SearchView,
  compare: CompareView,
  queries: QueriesView,
  reindex: ReindexView,
  map: MapView,
  settings: SettingsView,
};

function App() {
  const { tenant, collection, view } = place.value;
  useFollowing(tenant, collection);
  useEffect(
    () => void (document.title = `${collection === undefined ? 'Overview' : `${collection}: ${view}`} · Sheaf`),
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
            <Overview key={tenant} tenant={tenant} />
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

/** What happens to the collection that is open, with the key of now. */
function useFollowing(tenant: string, collection: string | undefined): void {
  const isThere = isListed(collection);
  useEffect(() => {
    if (collection === undefined || !isThere) return undefined;
    const controller = new AbortController();
    void follow({ tenant, collection }, controller.signal);
    return () => controller.abort();
  }, [tenant, collection, isThere, apiKey.value]);
}

function Collection({ tenant, collection, view }: At & Pick<Place, 'view'>) {
  const View = VIEWS[view];
  return (
    <>
      <Tabs collection={collection} view={view} />
      {!isListed(collection) && (
        <p class="note">
          Tenant {tenant} has no collection “{collection}”. The first document that is put into it makes it, with the
          settings of the server.
        </p>
      )}
      <View key={`${tenant}/${collection}/${view}`} tenant={tenant} collection={collection} />
    </>
  );
}

/** The address is the place in the console: the browser's own jump would change it. */
function toMain(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

// The console's entry: shows the shell in the page and listens to the keyboard.
// Built by scripts/console.mjs; runs in the browser.

showTheme();
listenToKeys();
render(<App />, document.getElementById('console') as HTMLElement);
