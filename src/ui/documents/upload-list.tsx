// How far the uploads to a collection have come.
// A part of the documents view.
import { useEffect } from 'preact/hooks';
import { ErrorNote } from '../parts/error-note.tsx';
import { bytes, count, counted } from '../parts/words.js';
import type { At } from '../server/api.js';
import { forgetFinished, isFinished, uploads, type Upload } from './uploads.js';

/** Of so many files each has a line; the others are counted. */
const LINES_MAX = 200;
/** What is most worth a line first. */
const ORDER: readonly Upload['state'][] = ['failed', 'sending', 'indexing', 'waiting', 'done'];

/** Calls `onDone` whenever one of them is finished. */
export function UploadList({ at, onDone }: { at: At; onDone: () => void }) {
  const mine = uploads.value.filter((each) => each.at.tenant === at.tenant && each.at.collection === at.collection);
  const finished = mine.filter(isFinished).length;
  useEffect(() => {
    if (finished > 0) onDone();
  }, [finished]);
  if (mine.length === 0) return null;
  const total = mine.reduce((sum, { file }) => sum + file.size, 0);
  const sent = mine.reduce((sum, each) => sum + each.file.size * (each.state === 'failed' ? 1 : each.sent), 0);
  const failed = mine.filter(({ state }) => state === 'failed').length;
  return (
    <section class="uploads" aria-label="Uploads">
      <header>
        <strong>
          {finished} of {counted(mine.length, 'file')}, {bytes(sent)} of {bytes(total)}
          {failed > 0 && `, ${count(failed)} failed`}
        </strong>
        {finished === mine.length && (
          <button type="button" onClick={forgetFinished}>
            Clear
          </button>
        )}
      </header>
      <progress max={total || 1} value={sent} aria-label="All uploads" />
      <ul>
        {linesOf(mine).map((each) => (
          <UploadLine key={each.id} upload={each} />
        ))}
      </ul>
      {mine.length > LINES_MAX && <p class="faint">and {counted(mine.length - LINES_MAX, 'file')} more</p>}
    </section>
  );
}

function linesOf(mine: readonly Upload[]): readonly Upload[] {
  if (mine.length <= LINES_MAX) return mine;
  return ORDER.flatMap((state) => mine.filter((each) => each.state === state)).slice(0, LINES_MAX);
}

function UploadLine({ upload: { file, path, state, sent, chunks, error } }: { upload: Upload }) {
  const words = {
    waiting: 'waiting',
    sending: `${Math.round(sent * 100)} %`,
    indexing: 'indexing …',
    done: counted(chunks ?? 0, 'chunk'),
    failed: 'failed',
  };
  return (
    <li class={state}>
      <span>{path}</span>
      <span class="faint">{bytes(file.size)}</span>
      <span>{words[state]}</span>
      {error !== undefined && <ErrorNote error={error} />}
    </li>
  );
}
