// A labelled field of a form, with a hint below it.
// A part of every form.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { SheafError, SheafUnreachable } from '../client/errors.js';
import { type Range, piecesOf } from './format.js';

interface FieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly children: ComponentChildren;
}

export function Field({ label, hint, children }: FieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
      {hint && <small class="faint">{hint}</small>}
    </label>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  /** Value and words. */
  readonly choices: readonly (readonly [string, string])[];
  readonly onChoice: (value: string) => void;
}

/** One of a few. */
export function Choice({ label, value, choices, onChoice }: ChoiceProps) {
  return (
    <Field label={label}>
      <select value={value} onChange={({ currentTarget }) => onChoice(currentTarget.value)}>
        {choices.map(([key, words]) => (
          <option value={key} selected={key === value}>
            {words}
          </option>
        ))}
      </select>
    </Field>
  );
}

interface TickProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly onTurn: (isOn: boolean) => void;
}

export function Tick({ label, isOn, onTurn }: TickProps) {
  return (
    <label class="tick">
      <input type="checkbox" checked={isOn} onChange={({ currentTarget }) => onTurn(currentTarget.checked)} />
      {label}
    </label>
  );
}

// A modal dialog: the browser's own, which keeps the focus inside, closes with Esc, and gives the focus back.
// A part of the shell and of views.

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, isWide, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  // Before the page is painted: who types at once types into the dialog.
  useLayoutEffect(() => {
    const dialog = element.current as HTMLDialogElement;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  return (
    <dialog ref={element} class={isWide ? 'wide' : ''} aria-label={title} onClose={onClose} onCancel={onClose}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={onClose}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  );
}

// What to do next, by the code of an error: a sentence for the user, where there is something to do.

const BY_CODE: Readonly<Record<string, string>> = {
  auth_invalid: 'Press “Key” at the top right and enter a key of this server.',
  auth_forbidden:
    'This key is for another tenant, or lacks the scope. Change the tenant at the top, or use another key.',
  admin_required: 'Only the admin key may do this. Press “Key” at the top right to use it.',
  collection_not_found: 'It may have been deleted or renamed. Choose another in the list on the left, or make it.',
  collection_damaged:
    'Stop the server and run “sheaf check” on its data directory; other collections are not concerned.',
  embedder_unavailable: 'The embedder does not answer. See /health/ready, and try again once it does.',
  vectors_only:
    'This collection holds vectors of your own, not texts. Search it by a vector, such as [0.1, 0.2]; for texts make another collection.',
  dim_mismatch: 'Give a vector of as many numbers as the collection’s embedder has: its settings tell how many.',
  invalid_rerank: 'Name a reranker of the configuration (“rerank.instances”), or leave the field empty.',
  reranker_unavailable: 'Leave the reranker empty, or try again once it answers.',
  search_mode_requires_text: 'Search by a vector in mode vector.',
  collection_conflict: 'Choose another name.',
  file_too_large: 'Cut it, or raise “limits.file_bytes” of the configuration.',
  collection_limit_reached: 'The tenant has as many collections as it may: delete one, or have its quota raised.',
  chunk_limit_reached: 'The collection has as many chunks as it may: delete documents, or have the quota raised.',
  not_ready: 'The server is starting. Try again in some seconds.',
  unsupported_or_invalid_document:
    'Files may be txt, md, html, csv, tsv, json, jsonl, pdf, docx, pptx, xlsx, odt, epub or eml.',
  file_encrypted: 'Save the file without its password and drop it again.',
  file_unreadable: 'The file seems to be cut off or broken: open and save it in its program, then drop it again.',
  no_text_extracted: 'There is no text in it. A scan has to go through text recognition first.',
  reindex_conflict: 'Wait for the job that is under way, or cancel it.',
  reindex_invalid: 'Choose another embedder than the present one, or “the same”, which builds memory and graph anew.',
  tenant_rate_limited: 'Wait a moment and try again.',
  overloaded: 'The server is busy. Wait a moment and try again.',
  shard_unavailable: 'A part of the collection is being loaded. Try again in some seconds.',
  storage_full: 'The disk of the server is full: make room, then try again. Reading goes on meanwhile.',
  storage_failed: 'The disk of the server takes no writes: see its log.',
  validation_error: 'Mend the field that is named and try again.',
  search_mode_disabled: 'Choose another mode; “search.modes” of the configuration says which are served.',
};

function adviceFor(error: unknown): string | undefined {
  if (error instanceof SheafUnreachable)
    return 'See whether the server is running (“npm start”), then try again, or reload the page.';
  return error instanceof SheafError ? BY_CODE[error.code] : undefined;
}

// What went wrong, in the server's words, and what to do next. Shown in the place of what could not be shown.
// A part of every view.

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

// A name and its value, in a list of such (`dl`).
// A part of figures and of what is known of something.

export function Term({ name, isWide, children }: { name: string; isWide?: boolean; children: ComponentChildren }) {
  return (
    <div class={isWide ? 'wide' : ''}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

// A text with marks in it. As text nodes: what stands in documents is never taken for markup.
// A part of chunks and hits.

export function Marked({ text, ranges }: { text: string; ranges: readonly Range[] }) {
  return <>{piecesOf(text, ranges).map(({ text: piece, isMarked }) => (isMarked ? <mark>{piece}</mark> : piece))}</>;
}
