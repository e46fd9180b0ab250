// What went wrong, in the server's words, and what to do next. Shown in the place of what could not be shown.
// A part of every view.
import { SheafError } from '../../client/errors.js';
import { adviceFor } from '../server/advice.js';

export function ErrorNote({ error }: { error: unknown }) {
  if (error === undefined) return null;
  const advice = adviceFor(error);
  const message = error instanceof Error ? error.message : String(error);
  return (
    <div class="note bad" role="alert">
      <strong>{message}</strong>
      {advice && <p>{advice}</p>}
      {error instanceof SheafError && (
        <p class="faint">
          {error.status} <code>{error.code}</code>
          {error.requestId && <> · request {error.requestId}</>}
        </p>
      )}
    </div>
  );
}
