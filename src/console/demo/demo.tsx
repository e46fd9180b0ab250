// Queries that show what each way of searching is good for, on the demo corpus.
// Read by suggestions.tsx.
import type { Settings } from '../plain/search-settings.js';

export const DEMO_COLLECTION = 'demo';

interface DemoQuery extends Partial<Settings> {
  readonly q: string;
  readonly words: string;
}

const SCIENCE = JSON.stringify([{ field: 'topic', operator: '=', value: 'sky' }]);
const OLD = JSON.stringify([{ field: 'year', operator: '<', value: '1900' }]);

export const DEMO_QUERIES: readonly DemoQuery[] = [
  { q: 'a ship under the water', mode: 'vector', words: 'by meaning' },
  { q: 'bread without yeast from the shop', mode: 'hybrid', words: 'meaning and words together' },
  { q: 'why is the sea salty', mode: 'boost', words: 'a little more for exact words' },
  { q: 'why does it shine', filters: SCIENCE, words: 'only where topic is sky' },
  { q: 'messages over long distances', filters: OLD, words: 'only before 1900' },
  { q: 'what happens to my data when the power fails', mode: 'hybrid', words: 'a question' },
];
