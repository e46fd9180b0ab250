// Takes files that are dropped or chosen, and shows how far each has come.
// A part of the documents view: all of the view takes what is dropped.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ErrorNote } from '../parts/error-note.tsx';
import { bytes, counted } from '../parts/words.js';
import type { At } from '../server/api.js';
import { droppedFiles } from './dropped-files.js';
import { forgetFinished, upload, uploads, type Upload } from './uploads.js';

export function DropZone({ at, children }: { at: At; children: ComponentChildren }) {
  const [isOver, setIsOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    if (event.dataTransfer) void droppedFiles(event.dataTransfer).then((files) => upload(at, files));
  };
  const over = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(true);
  };
  return (
    <div class={`drop${isOver ? ' over' : ''}`} onDragOver={over} onDragLeave={() => setIsOver(false)} onDrop={drop}>
      {children}
      {isOver && <p class="veil">Drop files or folders to ingest them</p>}
    </div>
  );
}

export function FileButton({ at }: { at: At }) {
  const take = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    upload(at, [...(currentTarget.files ?? [])]);
    currentTarget.value = '';
  };
  return (
    <label class="button main">
      Upload files
      <input type="file" multiple class="unseen" onChange={take} />
    </label>
  );
}

/** Calls `onDone` whenever one of them is finished. */
export function UploadList({ at, onDone }: { at: At; onDone: () => void }) {
  const mine = uploads.value.filter((each) => each.at.tenant === at.tenant && each.at.collection === at.collection);
  const finished = mine.filter(({ state }) => state === 'done' || state === 'failed').length;
  useEffect(() => {
    if (finished > 0) onDone();
  }, [finished]);
  if (mine.length === 0) return null;
  const total = mine.reduce((sum, { file }) => sum + file.size, 0);
  const sent = mine.reduce((sum, each) => sum + each.file.size * (each.state === 'failed' ? 1 : each.sent), 0);
  return (
    <section class="uploads" aria-label="Uploads">
      <header>
        <strong>
          {finished} of {counted(mine.length, 'file')}, {bytes(sent)} of {bytes(total)}
        </strong>
        {finished === mine.length && <button type="button" onClick={forgetFinished}>Clear</button>}
      </header>
      <progress max={total || 1} value={sent} aria-label="All uploads" />
      <ul>{mine.map((each) => <UploadLine key={each.id} upload={each} />)}</ul>
    </section>
  );
}

function UploadLine({ upload: { file, state, sent, chunks, error } }: { upload: Upload }) {
  const words = { waiting: 'waiting', sending: `${Math.round(sent * 100)} %`, indexing: 'indexing …', done: counted(chunks ?? 0, 'chunk'), failed: 'failed' };
  return (
    <li class={state}>
      <span>{file.name}</span>
      <span class="faint">{bytes(file.size)}</span>
      <span>{words[state]}</span>
      {error !== undefined && <ErrorNote error={error} />}
    </li>
  );
}
