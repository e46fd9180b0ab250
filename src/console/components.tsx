// A labelled form field with a hint.
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

/** The name of something new, as it stands in paths. */
export function NameField({ value, onName }: { value: string; onName: (name: string) => void }) {
  return (
    <Field label="Name" hint="Letters, digits, dots, dashes and underscores.">
      <input
        title="Letters, digits, dots, dashes and underscores, without spaces; must begin with a letter or digit."
        required
        autofocus
        spellcheck={false}
        autocomplete="off"
        pattern="[A-Za-z0-9][A-Za-z0-9._\-]{0,127}"
        value={value}
        onInput={({ currentTarget }) => onName(currentTarget.value)}
      />
    </Field>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  /** Values and labels. */
  readonly choices: readonly (readonly [string, string])[];
  readonly onChoice: (value: string) => void;
}

/** A choice from a list. */
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

// A modal dialog. The browser's `dialog` element keeps the focus inside, closes on Esc, and restores the focus.

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, isWide, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  // Opens before the page is painted, so that keys pressed at once reach the dialog.
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

// Advice for the user by error code, where there is something to do.

const BY_CODE: Readonly<Record<string, string>> = {
  auth_invalid: 'Press “Key” at the top right and enter a key of this server.',
  auth_forbidden:
    'This key is for another tenant, or lacks the scope. Change the tenant at the top, or use another key.',
  admin_required: 'Only the admin key may do this. Press “Key” at the top right to use it.',
  collection_not_found: 'It may have been deleted or renamed. Choose another in the list on the left, or create it.',
  collection_damaged:
    'Stop the server and run “sheaf check” on its data directory. Other collections are not affected.',
  embedder_unavailable: 'The embedder does not answer. See /health/ready, and try again once it does.',
  vectors_only:
    'This collection holds your own vectors, not texts. Search it by a vector, such as [0.1, 0.2], or create another collection for texts.',
  dim_mismatch: 'Use a vector with the dimensions of the collection, which its settings show.',
  invalid_rerank: 'Enter the key of a configured reranker (“rerank.instances”), or leave the field empty.',
  reranker_unavailable: 'Leave the reranker empty, or try again once it answers.',
  search_mode_requires_text: 'Use mode vector to search by a vector.',
  collection_conflict: 'Choose another name.',
  file_too_large: 'Split the file, or raise “limits.max_file_bytes” in the configuration.',
  collection_limit_reached: 'The tenant has reached its limit of collections: delete one, or ask for a higher quota.',
  chunk_limit_reached: 'The collection has reached its limit of chunks: delete documents, or ask for a higher quota.',
  not_ready: 'The server is starting. Try again in a few seconds.',
  unsupported_or_invalid_document:
    'Files may be txt, md, html, csv, tsv, json, jsonl, pdf, docx, pptx, xlsx, odt, epub or eml.',
  file_encrypted: 'Save the file without its password and drop it again.',
  file_unreadable: 'The file seems to be truncated or broken: open and save it in its program, then drop it again.',
  no_text_extracted: 'The file contains no text. A scan needs text recognition first.',
  reindex_conflict: 'Wait for the current job, or cancel it.',
  reindex_invalid: 'Choose a different embedder, or “the same” to rebuild memory and graph.',
  tenant_rate_limited: 'Wait a moment and try again.',
  overloaded: 'The server is busy. Wait a moment and try again.',
  shard_unavailable: 'A part of the collection is being loaded. Try again in a few seconds.',
  storage_full: 'The disk of the server is full: free some space, then try again. Reads still work.',
  storage_failed: 'The disk of the server fails to write: see the server log.',
  validation_error: 'Correct the named field and try again.',
  search_mode_disabled: 'Choose another mode. “search.modes” in the configuration lists the enabled ones.',
};

function adviceFor(error: unknown): string | undefined {
  if (error instanceof SheafUnreachable)
    return 'Check that the server is running (“npm start”), then try again or reload the page.';
  return error instanceof SheafError ? BY_CODE[error.code] : undefined;
}

// Shows an error in the server's words, with advice.

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

// A name and its value in a `dl` list.

export function Term({ name, isWide, children }: { name: string; isWide?: boolean; children: ComponentChildren }) {
  return (
    <div class={isWide ? 'wide' : ''}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

// A text with marked ranges. Rendered as text nodes, so that text from documents is never parsed as markup.

export function Marked({ text, ranges }: { text: string; ranges: readonly Range[] }) {
  return <>{piecesOf(text, ranges).map(({ text: piece, isMarked }) => (isMarked ? <mark>{piece}</mark> : piece))}</>;
}
