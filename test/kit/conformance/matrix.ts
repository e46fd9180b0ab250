// The coverage of the specification as a table for people: endpoints down, statuses across.
import { nameOf, type Endpoint } from './endpoint.js';

export type Cell = 'made' | 'missed';

export class Matrix {
  private readonly cells = new Map<string, Cell>();

  constructor(private readonly endpoints: readonly Endpoint[]) {}

  note(endpoint: Endpoint, status: number, cell: Cell): void {
    this.cells.set(`${nameOf(endpoint)} ${status}`, cell);
  }

  toString(): string {
    const statuses = [...new Set(this.endpoints.flatMap(statusesOf))].sort((a, b) => a - b);
    const width = Math.max(...this.endpoints.map((endpoint) => nameOf(endpoint).length));
    const rows = this.endpoints.map(
      (endpoint) =>
        `${nameOf(endpoint).padEnd(width)}  ${statuses.map((status) => this.mark(endpoint, status)).join('  ')}`,
    );
    const listed = this.endpoints.flatMap(statusesOf).length;
    const made = [...this.cells.values()].filter((cell) => cell === 'made').length;
    const head = `${''.padEnd(width)}  ${statuses.join('  ')}`;
    const foot = `${made} of ${listed} statuses of ${this.endpoints.length} endpoints made to happen`;
    return [head, ...rows, foot].join('\n');
  }

  /** Empty where the specification does not list the status. */
  private mark(endpoint: Endpoint, status: number): string {
    if (!statusesOf(endpoint).includes(status)) return '   ';
    const cell = this.cells.get(`${nameOf(endpoint)} ${status}`);
    return cell === 'made' ? ' ✓ ' : cell === 'missed' ? ' ✗ ' : ' ? ';
  }
}

/** The success first. */
export const statusesOf = ({ success, others }: Endpoint): number[] => [success, ...others];
