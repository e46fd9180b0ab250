// A text typed or pasted, as a document, with metadata where wanted.
// A dialog of the documents view.
import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { Field } from '../parts/field.tsx';
import { useAction } from '../parts/loaded.js';
import { ingest, type At } from '../server/api.js';

interface Props {
  readonly at: At;
  readonly onClose: () => void;
  readonly onAdded: (docid: string) => void;
}

interface Form {
  readonly text: string;
  readonly docid: string;
  /** JSON. */
  readonly metadata: string;
}

export function AddText({ at, onClose, onAdded }: Props) {
  const [form, setForm] = useState<Form>({ text: '', docid: '', metadata: '' });
  const { isBusy, error, run } = useAction();
  const add = async () => {
    const { text, docid, metadata } = form;
    const answer = await ingest(at, { text, ...(docid && { docid }), ...(metadata.trim() && { metadata: parseObject(metadata) }) });
    onAdded(answer.docid);
  };
  return (
    <Dialog title="Add a text" onClose={onClose} isWide>
      <form onSubmit={(event) => (event.preventDefault(), run(add))}>
        <Fields form={form} onChange={(change) => setForm({ ...form, ...change })} />
        <ErrorNote error={error} />
        <footer>
          <button type="submit" class="main" disabled={isBusy || form.text.trim() === ''}>
            Add it
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function Fields({ form: { text, docid, metadata }, onChange }: { form: Form; onChange: (change: Partial<Form>) => void }) {
  return (
    <>
      <Field label="Text">
        <textarea rows={10} required autofocus value={text} onInput={({ currentTarget }) => onChange({ text: currentTarget.value })} />
      </Field>
      <Field label="Document id" hint="Empty: the server makes one. A known one replaces its document.">
        <input value={docid} spellcheck={false} onInput={({ currentTarget }) => onChange({ docid: currentTarget.value })} />
      </Field>
      <Field label="Metadata" hint={'A JSON object, such as {"year": 1870}; empty: none.'}>
        <input value={metadata} spellcheck={false} onInput={({ currentTarget }) => onChange({ metadata: currentTarget.value })} />
      </Field>
    </>
  );
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below, in words of our own.
  }
  throw new Error('The metadata is no JSON object, such as {"year": 1870}.');
}
