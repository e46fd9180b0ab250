// A labelled field of a form, with a hint below it.
// A part of every form.
import type { ComponentChildren } from 'preact';

interface Props {
  readonly label: string;
  readonly hint?: string;
  readonly children: ComponentChildren;
}

export function Field({ label, hint, children }: Props) {
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
