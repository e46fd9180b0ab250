// A name and its value, in a list of such (`dl`).
// A part of figures and of what is known of something.
import type { ComponentChildren } from 'preact';

export function Term({ name, isWide, children }: { name: string; isWide?: boolean; children: ComponentChildren }) {
  return (
    <div class={isWide ? 'wide' : ''}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
