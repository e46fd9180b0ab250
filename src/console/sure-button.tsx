// A button for what cannot be undone: a first click asks in other words, and a second one does it.
import { useState } from 'preact/hooks';
import { ErrorNote } from './components.tsx';
import { useAction } from './hooks.js';

interface SureButtonProps {
  readonly first: string;
  readonly second: string;
  /** The name of the first button, where its words do not say what is meant. */
  readonly label?: string;
  readonly work: () => Promise<unknown>;
}

export function SureButton({ first, second, label, work }: SureButtonProps) {
  const [isSure, setIsSure] = useState(false);
  const { isBusy, error, run } = useAction();
  return (
    <>
      {isSure ? (
        <button type="button" class="danger" disabled={isBusy} onClick={() => run(work)}>
          {second}
        </button>
      ) : (
        <button type="button" aria-label={label} onClick={() => setIsSure(true)}>
          {first}
        </button>
      )}
      <ErrorNote error={error} />
    </>
  );
}
