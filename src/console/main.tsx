// The frame of the console: the bar at the top, the collections at the left, and the view that the address names.
// Rendered by main.tsx. Each view but the first is fetched when it is wanted.
import { useEffect } from 'preact/hooks';
import { apiKey, asksForKey } from '../state/session.js';
import { follow } from '../state/follow.js';
import type { Place } from '../plain/address.js';
import { place } from '../state/place.js';
import { showsHelp } from '../state/shortcuts.js';
import { later } from '../parts/later.tsx';
import { isListed } from '../collections/catalog.js';
import { CollectionNav } from '../collections/collection-nav.tsx';
import { DocumentsView } from '../documents/documents-view.tsx';
import type { At } from '../server/api.js';
import { Help } from './help.tsx';
import { KeyDialog } from './key-dialog.tsx';
import { Tabs } from './tabs.tsx';
import { TopBar } from './top-bar.tsx';

const SearchView = later<At>(() => import('../search/search-view.tsx').then(({ SearchView: view }) => view));
const CompareView = later<At>(() => import('../search/compare-view.tsx').then(({ CompareView: view }) => view));
const QueriesView = later<At>(() => import('../queries/queries-view.tsx').then(({ QueriesView: view }) => view));
const ReindexView = later<At>(() => import('../reindex/reindex-view.tsx').then(({ ReindexView: view }) => view));
const MapView = later<At>(() => import('../map/map-view.tsx').then(({ MapView: view }) => view));
const SettingsView = later<At>(() => import('../collections/settings-view.tsx').then(({ SettingsView: view }) => view));
const Overview = later<{ tenant: string }>(() => import('../live/overview.tsx').then(({ Overview: view }) => view));

const VIEWS = {
  documents: DocumentsView,
  search: SearchView,
  compare: CompareView,
  queries: QueriesView,
  reindex: ReindexView,
  map: MapView,
  settings: SettingsView,
};

export function App() {
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
