// A modal dialog: the browser's own, which keeps the focus inside, closes with Esc, and gives the focus back.
// A part of the shell and of views.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, isWide, children }: Props) {
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
