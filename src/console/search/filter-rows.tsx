// Conditions on metadata, of a search or of a list of documents.
import { type FilterRow, OPERATORS, type Operator, filtersOf, parseRows, takesValue } from './settings.js';

interface FilterRowsProps {
  /** FilterRow[] as JSON. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const EMPTY: FilterRow = { field: '', operator: '=', value: '' };

/** Conditions on metadata. */
export function FilterRows({ value, onChange }: FilterRowsProps) {
  const rows = parseRows(value);
  const set = (next: readonly FilterRow[]) => onChange(next.length === 0 ? '' : JSON.stringify(next));
  const filters = filtersOf(rows);
  return (
    <fieldset>
      <legend>Metadata</legend>
      {rows.map((row, i) => (
        <Row
          key={i}
          row={row}
          onChange={(changed) => set(rows.with(i, changed))}
          onRemove={() => set(rows.toSpliced(i, 1))}
        />
      ))}
      <button type="button" onClick={() => set([...rows, EMPTY])}>
        Add a condition
      </button>
      {filters && <code class="told">{JSON.stringify(filters)}</code>}
    </fieldset>
  );
}

function Row({
  row,
  onChange,
  onRemove,
}: {
  row: FilterRow;
  onChange: (row: FilterRow) => void;
  onRemove: () => void;
}) {
  const { field, operator, value } = row;
  return (
    <div class="condition">
      <input
        value={field}
        placeholder="field"
        aria-label="Field"
        spellcheck={false}
        onInput={({ currentTarget }) => onChange({ ...row, field: currentTarget.value })}
      />
      <select
        value={operator}
        aria-label="Operator"
        onChange={({ currentTarget }) => onChange({ ...row, operator: currentTarget.value as Operator })}
      >
        {OPERATORS.map((each) => (
          <option value={each} selected={each === operator}>
            {each}
          </option>
        ))}
      </select>
      {takesValue(operator) && (
        <input
          value={value}
          placeholder="value"
          aria-label="Value"
          onInput={({ currentTarget }) => onChange({ ...row, value: currentTarget.value })}
        />
      )}
      <button
        type="button"
        class="plain"
        aria-label={`Remove the condition on ${field || 'no field'}`}
        onClick={onRemove}
      >
        ✕
      </button>
    </div>
  );
}
