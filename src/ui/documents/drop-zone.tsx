// Takes files that are dropped or chosen.
// A part of the documents view: all of the view takes what is dropped.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { ErrorNote } from '../parts/error-note.tsx';
import { useAction } from '../parts/loaded.js';
import { count } from '../parts/words.js';
import type { At } from '../server/api.js';
import { droppedFiles, FILES_MAX } from './dropped-files.js';
import { upload } from './uploads.js';

/** Files that are named where they cannot be read. */
const NAMED_MAX = 5;

export function DropZone({ at, children }: { at: At; children: ComponentChildren }) {
  const [isOver, setIsOver] = useState(false);
  const { error, run } = useAction();
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    const { dataTransfer } = event;
    if (dataTransfer) run(() => take(at, dataTransfer));
  };
  const over = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(true);
  };
  return (
    <div class={`drop${isOver ? ' over' : ''}`} onDragOver={over} onDragLeave={() => setIsOver(false)} onDrop={drop}>
      <ErrorNote error={error} />
      {children}
      {isOver && <p class="veil">Drop files or folders to ingest them</p>}
    </div>
  );
}

async function take(at: At, transfer: DataTransfer): Promise<void> {
  const { files, unread, isCut } = await droppedFiles(transfer);
  upload(at, files);
  if (unread.length > 0)
    throw new Error(
      `The browser may not read ${unread.slice(0, NAMED_MAX).join(', ')}${unread.length > NAMED_MAX ? ` and ${count(unread.length - NAMED_MAX)} more` : ''}; all else is taken.`,
    );
  if (isCut)
    throw new Error(
      `Of the folder ${count(FILES_MAX)} files are taken. All of it: npx sheaf ingest FOLDER --collection ${at.collection} --tenant ${at.tenant}`,
    );
}

export function FileButton({ at }: { at: At }) {
  const chosen = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    upload(
      at,
      [...(currentTarget.files ?? [])].map((file) => ({ file, path: file.name })),
    );
    currentTarget.value = '';
  };
  return (
    <label class="button main">
      Upload files
      <input type="file" multiple class="unseen" onChange={chosen} />
    </label>
  );
}
