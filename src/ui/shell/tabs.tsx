// The views of a collection as links, under its name.
// A part of the shell.
import { VIEWS, type View } from '../plain/address.js';
import { there } from '../state/place.js';
import { isLive } from '../state/follow.js';

const WORDS: Readonly<Record<View, string>> = {
  documents: 'Documents',
  search: 'Search',
  compare: 'Compare',
  queries: 'Query log',
  reindex: 'Reindex',
  map: 'Map',
  settings: 'Settings',
};

export function Tabs({ collection, view }: { collection: string; view: View }) {
  return (
    <header class="place">
      <h1>
        {collection}
        {isLive.value && (
          <span class="live" title="What happens to the collection is shown as it happens">
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
