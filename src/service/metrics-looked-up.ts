// Metrics that are not counted but looked up: gauges and counters of what others know already.
// Used by the other files of metrics, on the front thread.
import type { Counter, Gauge, Registry } from 'prom-client';

/** A metric whose value is read when it is scraped, and costs nothing before. */
export function lookedUp(registry: Registry, Kind: typeof Counter | typeof Gauge, name: string, help: string, read: () => number): void {
  const registers = [registry];
  new Kind({ name, help, registers, collect() {
    this.reset();
    this.inc(read());
  } });
}
