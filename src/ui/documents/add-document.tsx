// A text typed or pasted, as a document, with metadata where wanted; in a collection of vectors of one's own a vector.
// A dialog of the documents view.
import { changedNumber } from '../../base/exact-numbers.js';
import { useState } from 'preact/hooks';
import type { IngestBody } from '../../contract/api/documents.js';
import { Dialog } from '../parts/dialog.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { Field } from '../parts/field.tsx';
import { useAction } from '../parts/loaded.js';
import { counted } from '../parts/words.js';
import { vectorOf } from '../plain/own-vectors.js';
import { ingest, type At } from '../server/api.js';

interface Props {
  readonly at: At;
  /** How many numbers a vector has; undefined where texts are taken. */
  readonly dim: number | undefined;
  readonly onClose: () => void;
  readonly onAdded: (docid: string) => void;
}

interface Form {
  /** A text, or the numbers of a vector as JSON. */
  readonly content: string;
  readonly docid: string;
  /** JSON. */
  readonly metadata: string;
}

export function AddDocument({ at, dim, onClose, onAdded }: Props) {
  const [form, setForm] = useState<Form>({ content: '', docid: '', metadata: '' });
  const { isBusy, error, run } = useAction();
  const add = async () => {
    const { content, docid, metadata } = form;
    const what = dim === undefined ? { text: content } : { vector: parseVector(content, dim) };
    onAdded(
      (
        await ingest(at, {
          ...what,
          ...(docid && { docid }),
          ...(metadata.trim() && { metadata: parseObject(metadata) }),
        })
      ).docid,
    );
  };
  return (
    <Dialog title={wordsOf(dim)} onClose={onClose} isWide>
      <form onSubmit={(event) => (event.preventDefault(), run(add))}>
        <Fields form={form} dim={dim} onChange={(change) => setForm({ ...form, ...change })} />
        <ErrorNote error={error} />
        <footer>
          <button type="submit" class="main" disabled={isBusy || form.content.trim() === ''}>
            Add it
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

export const wordsOf = (dim: number | undefined): string => (dim === undefined ? 'Add a text' : 'Add a vector');

function Fields({
  form: { content, docid, metadata },
  dim,
  onChange,
}: {
  form: Form;
  dim: number | undefined;
  onChange: (change: Partial<Form>) => void;
}) {
  return (
    <>
      <Field
        label={dim === undefined ? 'Text' : 'Vector'}
        {...(dim !== undefined && { hint: `A JSON list of ${counted(dim, 'number')}, such as [0.1, 0.2, …].` })}
      >
        <textarea
          rows={10}
          required
          autofocus
          spellcheck={dim === undefined}
          value={content}
          onInput={({ currentTarget }) => onChange({ content: currentTarget.value })}
        />
      </Field>
      <Field label="Document id" hint="Empty: the server makes one. A known one replaces its document.">
        <input
          value={docid}
          spellcheck={false}
          onInput={({ currentTarget }) => onChange({ docid: currentTarget.value })}
        />
      </Field>
      <Field label="Metadata" hint={'A JSON object, such as {"year": 1870}; empty: none.'}>
        <input
          value={metadata}
          spellcheck={false}
          onInput={({ currentTarget }) => onChange({ metadata: currentTarget.value })}
        />
      </Field>
    </>
  );
}

function parseVector(text: string, dim: number): NonNullable<IngestBody['vector']> {
  const vector = vectorOf(text);
  if (vector?.length === dim) return vector;
  throw new Error(
    vector
      ? `The vector has ${counted(vector.length, 'number')}; those of this collection have ${dim}.`
      : 'The vector is no JSON list of numbers, such as [0.1, 0.2].',
  );
}

function parseObject(text: string): Record<string, unknown> {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('The metadata is no JSON object, such as {"year": 1870}.');
  const number = changedNumber(text);
  if (number === undefined) return value as Record<string, unknown>;
  throw new Error(`${number} has more digits than a number keeps: write it as a string.`);
}

/** Undefined where it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
