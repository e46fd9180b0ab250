// Queries to begin with: those of the demo corpus in its collection, a few words elsewhere.
// Shown by the search view before anything is searched for.
import type { At } from '../server/api.js';
import type { Settings } from '../plain/search-settings.js';
import { DEMO_COLLECTION, DEMO_QUERIES } from './queries.js';

export function Suggestions({ at, onChoice }: { at: At; onChoice: (settings: Partial<Settings>) => void }) {
  if (at.collection !== DEMO_COLLECTION) return <p class="empty">Type what you look for and press Enter. “/” brings you here from anywhere.</p>;
  return (
    <section class="empty" aria-label="Suggestions">
      <h2>Try one of these</h2>
      <ul class="suggestions">
        {DEMO_QUERIES.map(({ words, ...settings }) => (
          <li>
            <button type="button" data-entry onClick={() => onChoice(settings)}>
              {settings.q}
            </button>
            <span class="faint">{words}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
