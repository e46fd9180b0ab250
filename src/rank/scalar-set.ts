// Equality of a metadata value with any of a filter's values: by value, with numbers and booleans equal to their text,
// because columns of a CSV file are text. Pure.
import type { Scalar } from '../contract/filter.js';

const DECIMAL = /^-?(0|[1-9]\d*)(\.\d+)?$/;

/** The number that a text is the decimal form of; undefined for any other text. */
export function numberOfDecimal(text: string): number | undefined {
  if (!DECIMAL.test(text)) return undefined;
  const value = Number(text);
  // Beyond 2^53 different integers are the same number: there only the very digits count.
  return Number.isInteger(value) && !Number.isSafeInteger(value) && String(value) !== text ? undefined : value;
}

export class ScalarSet {
  /** null stands for an absent field too. */
  readonly hasNull: boolean;
  private readonly strings: Set<string>;
  private readonly numbers: Set<number>;
  private readonly booleans: Set<boolean>;
  /** Of the strings, those that are decimal forms. */
  private readonly numbersAsText: Set<number>;

  constructor(values: readonly Scalar[]) {
    this.hasNull = values.includes(null);
    this.strings = new Set(values.filter((value) => typeof value === 'string'));
    this.numbers = new Set(values.filter((value) => typeof value === 'number'));
    this.booleans = new Set(values.filter((value) => typeof value === 'boolean'));
    this.numbersAsText = new Set([...this.strings].map(numberOfDecimal).filter((value) => value !== undefined));
  }

  has(value: unknown): boolean {
    if (typeof value === 'string') return this.strings.has(value) || this.hasTextOf(value);
    if (typeof value === 'number') return this.numbers.has(value) || this.numbersAsText.has(value);
    if (typeof value === 'boolean') return this.booleans.has(value) || this.strings.has(String(value));
    return value === null && this.hasNull;
  }

  private hasTextOf(text: string): boolean {
    if (text === 'true' || text === 'false') return this.booleans.has(text === 'true');
    const number = this.numbers.size > 0 ? numberOfDecimal(text) : undefined;
    return number !== undefined && this.numbers.has(number);
  }
}
