// Requests in progress over the nodes of a cluster: what others have in progress counts, a node may always have its share,
// and what a silent node has had in progress is forgotten.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { shareUse } from '../../../src/service/cluster/shared-use.js';
import { type Entered, TenantSlots } from '../../../src/service/tenants/tenant-slots.js';

const RATE = { perSecond: 1000, capacity: 1000 };
const MAX = 12;

/** Nodes whose news arrive at once. Time is the timers' of the test. */
class Nodes {
  private readonly takers: ((what: unknown) => void)[] = [];
  private readonly slots: TenantSlots[] = [];
  private readonly ends: (() => void)[] = [];

  constructor(
    private readonly t: TestContext,
    count: number,
  ) {
    t.mock.timers.enable({ apis: ['setInterval', 'Date'] });
    for (let i = 0; i < count; i++) {
      const memory = { stripes: 2, tenants: TenantSlots.memory(64, 2) };
      this.slots.push(new TenantSlots(memory, 0));
      this.ends.push(
        shareUse({
          memory,
          stripe: 1,
          node: `n${i}`,
          nowMs: () => Date.now(),
          stream: {
            tell: (_, what) => this.takers.forEach((take) => take(structuredClone(what))),
            onTold: (_, take) => void this.takers.push(take),
          },
        }),
      );
    }
  }

  /** Begins as many requests as the node admits, at most `most`, and returns what ends them. */
  begin(node: number, most: number, tenant = 'acme'): (() => void)[] {
    const slots = this.slots[node] as TenantSlots;
    const entered: Entered[] = [];
    while (entered.length < most) {
      const one = slots.enter(tenant, MAX, RATE, Date.now());
      if (one.inFlight === undefined) break;
      entered.push(one);
    }
    return entered.map(
      ({ slot }) =>
        () =>
          slots.leave(slot),
    );
  }

  total(node: number): number {
    const slots = this.slots[node] as TenantSlots;
    const { slot, inFlight } = slots.enter('acme', Infinity, RATE, Date.now());
    slots.leave(slot);
    return (inFlight as number) - 1;
  }

  tick(ms = 200): void {
    this.t.mock.timers.tick(ms);
  }

  silence(node: number): void {
    (this.ends[node] as () => void)();
  }
}

test('requests in progress on other nodes count, and those of another tenant do not', (t) => {
  const nodes = new Nodes(t, 3);
  const ends = nodes.begin(0, 5);
  nodes.begin(1, 1)[0]?.();
  nodes.begin(2, 12, 'other');
  nodes.tick();
  assert.deepEqual([nodes.total(0), nodes.total(1)], [5, 5]);
  const here = nodes.begin(1, 100);
  assert.equal(here.length, 7);
  for (const end of ends) end();
  nodes.tick();
  assert.equal(nodes.total(0), 7);
  assert.equal(nodes.begin(1, 100).length, 5, 'those of the first node have ended');
});

test('nodes that have admitted too many before they heard of each other may each have their share', (t) => {
  const nodes = new Nodes(t, 3);
  const all = [0, 1, 2].map((node) => nodes.begin(node, 100));
  assert.deepEqual(
    all.map(({ length }) => length),
    [MAX, MAX, MAX],
  );
  nodes.tick();
  assert.deepEqual(
    [0, 1, 2].map((node) => nodes.begin(node, 100).length),
    [0, 0, 0],
  );
  for (const ends of all) for (const end of ends.splice(MAX / 3)) end();
  nodes.tick();
  assert.deepEqual(
    [0, 1, 2].map((node) => nodes.begin(node, 100).length),
    [0, 0, 0],
    'a third each',
  );
  all[0]?.pop()?.();
  nodes.tick();
  assert.equal(nodes.begin(1, 100).length, 1, 'what one does not use');
});

test('what a silent node has had in progress is forgotten after two seconds', (t) => {
  const nodes = new Nodes(t, 2);
  nodes.begin(0, 5);
  nodes.begin(1, 1)[0]?.();
  nodes.tick();
  nodes.silence(0);
  for (let i = 0; i < 9; i++) nodes.tick();
  assert.equal(nodes.total(1), 5);
  for (let i = 0; i < 3; i++) nodes.tick();
  assert.equal(nodes.total(1), 0);
});

test('under random load a node has its share at once, and all together come back to the maximum', (t) => {
  const prng = createPrng(3);
  const nodes = new Nodes(t, 3);
  const underWay: (() => void)[][] = [[], [], []];
  const total = (): number => underWay.reduce((sum, { length }) => sum + length, 0);
  let [begun, worst] = [0, 0];
  for (let step = 0; step < 2000; step++) {
    const node = prng.int(3);
    const own = underWay[node] as (() => void)[];
    const before = own.length;
    own.push(...nodes.begin(node, prng.int(4)));
    begun += own.length - before;
    nodes.tick();
    worst = Math.max(worst, total());
    const sharers = underWay.filter((each) => each === own || each.length > 0).length;
    assert.ok(own.length <= Math.max(before, MAX / sharers) || total() <= MAX, 'beyond its share what others leave');
    for (let ends = prng.int(4); ends > 0 && own.length > 0; ends--) own.splice(prng.int(own.length), 1)[0]?.();
  }
  assert.ok(worst >= MAX && worst <= MAX + MAX / 2 + MAX / 3, String(worst));
  assert.ok(begun > 2000, String(begun));
});
