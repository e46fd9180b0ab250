// What to do on a server without collections: the demo corpus with one click, or a collection of one's own.
// A part of the overview.
import { ErrorNote } from '../parts/error-note.tsx';
import { useAction } from '../parts/loaded.js';
import { loadDemo } from './load-demo.js';

export function FirstSteps({ tenant }: { tenant: string }) {
  const { isBusy, error, run } = useAction();
  return (
    <section class="empty card">
      <h2>Nothing here yet</h2>
      <p>Begin with the demo: some forty short texts about the sea, the sky, kitchens, books, machines. It takes a second, and suggests queries.</p>
      <p class="tools">
        <button type="button" class="main" disabled={isBusy} onClick={() => run(() => loadDemo(tenant))}>
          {isBusy ? 'Loading …' : 'Load the demo'}
        </button>
        <button type="button" onClick={() => document.querySelector<HTMLElement>('[data-new-collection]')?.click()}>
          Make a collection
        </button>
      </p>
      <ErrorNote error={error} />
    </section>
  );
}
