// The command log of a node over a stream that loses notices, forgets acknowledgements, delays and stops, in virtual
// order by a seed: every append is applied once, on all nodes in the same order; a stream that contradicts itself fences
// the node.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Result } from '../../../src/api/errors.js';
import { type Prng, createPrng } from '../../../src/base/prng.js';
import { LogProgress } from '../../../src/base/log-progress.js';
import { ReplicatedLog } from '../../../src/cluster/command-log.js';
import { type LogStream, StreamFull, type StreamMessage, type StreamState } from '../../../src/cluster/log-stream.js';
import type { ShardCommand } from '../../../src/engine/write/commands.js';
import { type LogBatch, unpackMessage } from '../../../src/engine/write/log-message.js';
import type { LogHead, LogResults } from '../../../src/engine/write/logged.js';
import type { AppliedLog } from '../../../src/storage/journal.js';
import { SILENT } from '../../kit/log.js';
import { until } from '../../kit/until.js';

// The timers of a node do not keep a process alive; a server does.
const alive = setInterval(() => undefined, 1000);
after(() => clearInterval(alive));

/** A stream in memory that several nodes share. */
class FakeStream {
  messages: StreamMessage[] = [];
  first = 1;
  id = 'stream-1';
  isDown = false;
  bytes = 0;
  /** Whether it refuses messages until some are deleted. */
  isFull = false;
  /** Acknowledges the next message to shard 0, and does not keep it. */
  losesNext = false;
  private lost = '';
  trimmedTo = 0;
  private readonly listeners: ((message: StreamMessage) => void)[] = [];
  private readonly told: ((what: unknown) => void)[] = [];

  constructor(private readonly prng: Prng) {}

  private chance(share: number): boolean {
    return this.prng.next() < share;
  }

  /** The stream as one node sees it. */
  view(): LogStream {
    const stream = this;
    return {
      id: stream.id,
      origin: 'empty',
      rebuild: undefined,
      latestRebuild: async () => undefined,
      announceRebuild: async () => undefined,
      publishTo: async () => undefined,
      payloadBytesMax: 1024 * 1024,
      bytesMax: 1024 * 1024,
      async publish(target, payload, id) {
        await sleep(stream.prng.int(3));
        if (stream.isDown || stream.chance(0.1)) throw new Error('no responders');
        if (stream.isFull) throw new StreamFull();
        const sequence = stream.store(target, payload, id);
        if (id !== stream.lost && stream.chance(0.1)) throw new Error('the acknowledgement is lost');
        return sequence;
      },
      async publishAfter({ target, payload, id }, last) {
        const isFree = (stream.lastOf(target)?.sequence ?? 0) === last;
        if (stream.isDown || stream.isFull || !isFree) throw new Error('wrong last sequence');
        return stream.store(target, payload, id);
      },
      lastOf: async (target) => stream.lastOf(target),
      onStored: (take) => void stream.listeners.push(take),
      async *read(from) {
        if (stream.isDown) throw new Error('no responders');
        await sleep(stream.prng.int(2));
        yield* stream.messages.filter(({ sequence }) => sequence >= from).slice(0, 1 + stream.prng.int(20));
      },
      state: async (): Promise<StreamState> => {
        if (stream.isDown) throw new Error('no responders');
        return { id: stream.id, first: stream.first, last: stream.messages.at(-1)?.sequence ?? 0, bytes: stream.bytes };
      },
      trim: async (before) => {
        stream.trimmedTo = before;
        [stream.isFull, stream.bytes] = [false, 0];
      },
      tell: (_, what) => stream.told.forEach((take) => take(structuredClone(what))),
      onTold: (_, take) => void stream.told.push(take),
      close: async () => undefined,
    };
  }

  private store(target: string, payload: Uint8Array, id: string): number {
    const known = id === '' ? undefined : this.messages.find((message) => message.id === id);
    if (known) return known.sequence;
    const message = { sequence: (this.messages.at(-1)?.sequence ?? 0) + 1, target, payload, id };
    if (this.losesNext && target === '0') [this.losesNext, this.lost] = [false, id];
    if (id === this.lost && id !== '') return message.sequence;
    this.messages.push(message);
    for (const take of this.listeners) if (!this.chance(0.3)) setTimeout(() => take(message), this.prng.int(4));
    return message.sequence;
  }

  lastOf(target: string): StreamMessage | undefined {
    return this.messages.findLast((message) => message.target === target);
  }
}

/** A node whose shards write down what they are asked to apply. */
class FakeNode {
  readonly applied = new Map<string, string[]>();
  readonly changes: string[] = [];
  /** The messages in the order in which this node has applied them. */
  readonly order: { readonly sequence: number; readonly target: string; readonly takesOver: boolean }[] = [];
  readonly log: ReplicatedLog;
  readonly progress = LogProgress.of('stream-1', 2);
  hash = (target: string): string => (this.applied.get(target) ?? []).join('|');

  constructor(
    readonly name: string,
    stream: FakeStream,
    private readonly prng: Prng,
    trimMs = 60_000,
    gone: readonly string[] = [],
    begun: AppliedLog | null = null,
  ) {
    const heardAtMs = Date.now() - 3_600_000;
    const nodes = gone.map((node) => ({ node, stream: stream.id, committed: 0, heardAtMs }));
    this.log = new ReplicatedLog({
      trimMs,
      stream: stream.view(),
      progress: this.progress,
      node: name,
      shards: 2,
      apply: (batch) => this.apply(batch),
      changed: (commands) => this.changes.push(...commands.map(nameOf)),
      log: SILENT,
      known: { nodes, keep: () => undefined },
    });
    for (const shard of [0, 1]) this.log.opened(shard, { shard: begun, catalog: begun });
  }

  private async apply(batch: LogBatch): Promise<LogResults> {
    await sleep(this.prng.int(3));
    if (this.prng.next() < 0.1) throw new Error('the shard has no owner now');
    const target = String(batch.target);
    const own = this.applied.get(target) ?? [];
    this.applied.set(target, own);
    const heads: LogHead[] = [];
    const results = batch.messages.map(({ sequence, payload }): Result<never>[] => {
      const commands = unpackMessage(payload);
      const names = commands.map(nameOf);
      own.push(...names);
      this.order.push({ sequence, target, takesOver: commands.some(({ op }) => op === 'switchCollection') });
      heads.push({ sequence, hash: this.hash(target) });
      return names.map((name) => ({ value: name as never }));
    });
    return { results, heads };
  }
}

const nameOf = (command: ShardCommand): string => (command as unknown as { name: string }).name;
const command = (name: string, op = 'counts'): ShardCommand => ({ op, name }) as unknown as ShardCommand;

for (const seed of [1, 2, 3, 4, 5, 6])
  test(`every append is applied once and in one order on all nodes, seed ${seed}`, async () => {
    const prng = createPrng(seed);
    const stream = new FakeStream(prng);
    const nodes = ['a', 'b', 'c'].map((name) => new FakeNode(name, stream, prng));
    const answers = new Map<string, string>();
    const appends = Array.from({ length: 120 }, async (_, i) => {
      await sleep(prng.int(200));
      const node = nodes[i % 3] as FakeNode;
      const target = ([0, 1, 'catalog'] as const)[prng.int(3)] as 0 | 1 | 'catalog';
      const names = Array.from({ length: 1 + prng.int(3) }, (__, n) => `${i}.${n}`);
      const op = target === 'catalog' && prng.int(2) === 0 ? 'switchCollection' : 'counts';
      const commands = names.map((name) => command(name, op));
      await node.log.append(target, commands, (results) =>
        answers.set(String(i), results.map((result) => ('value' in result ? result.value : 'refused')).join()),
      );
      assert.equal(answers.get(String(i)), names.join(), 'the results are those of the own commands');
    });
    const outage = sleep(60).then(async () => {
      stream.isDown = true;
      await sleep(150);
      stream.isDown = false;
    });
    await Promise.all([...appends, outage]);
    const last = stream.messages.at(-1)?.sequence ?? 0;
    await until(() => nodes.every(({ log }) => log.applied >= last), 'a node does not catch up');
    const [first, ...others] = nodes as [FakeNode, ...FakeNode[]];
    for (const target of ['0', '1', 'catalog']) {
      const order = first.applied.get(target) ?? [];
      assert.equal(new Set(order).size, order.length, 'nothing is applied twice');
      for (const other of others) assert.deepEqual(other.applied.get(target) ?? [], order);
    }
    const all = [...first.applied.values()].flat();
    assert.equal(answers.size, 120);
    assert.equal(all.length, [...answers.values()].join().split(',').length, 'nothing is left out');
    for (const node of nodes) {
      assert.equal(node.log.fenced, undefined);
      const foreign = (first.applied.get('catalog') ?? []).filter(
        (name) => Number(name.split('.')[0]) % 3 !== nodes.indexOf(node),
      );
      assert.deepEqual(node.changes, foreign, 'changes of the catalog by others, in order');
      const switches = node.order.flatMap(({ takesOver }, at) => (takesOver ? [at] : []));
      assert.ok(switches.length > 5);
      for (const at of switches) {
        const { sequence } = node.order[at] as { sequence: number };
        const late = node.order.slice(at).filter((other) => other.sequence < sequence && other.target !== 'catalog');
        assert.deepEqual(late, [], 'what was written before a switch is applied before it');
      }
      node.log.close();
    }
  });

const started = async (seed: number): Promise<{ stream: FakeStream; node: FakeNode }> => {
  const prng = createPrng(seed);
  const stream = new FakeStream(prng);
  const node = new FakeNode('a', stream, prng);
  for (let i = 0; i < 20; i++) await node.log.append(0, [command(`${i}`)], () => undefined);
  return { stream, node };
};

for (const [reason, harm] of [
  ['recreated', (stream: FakeStream) => (stream.id = 'stream-2')],
  ['regress', (stream: FakeStream) => stream.messages.splice(15)],
  ['trimmed', (stream: FakeStream) => ((stream.first = 30), (stream.messages = []))],
  [
    'hole',
    (stream: FakeStream) => stream.messages.push({ ...(stream.messages.at(-1) as StreamMessage), sequence: 22 }),
  ],
] as const)
  test(`a stream that contradicts the node fences it: ${reason}`, async () => {
    const { stream, node } = await started(7);
    harm(stream);
    await until(() => node.log.fenced === reason, `the node is not fenced: ${node.log.fenced}`);
    await assert.rejects(
      node.log.append(0, [command('late')], () => undefined),
      { code: 'cluster_fenced' },
    );
    // What such a stream says does not make the node look up to date.
    const ageMs = (): number => node.progress.ageMs(Date.now()) ?? Infinity;
    const before = ageMs();
    await sleep(1500);
    assert.ok(ageMs() >= before + 1000, `the age went from ${before} to ${ageMs()} ms`);
    node.log.close();
  });

test('a log that is closed rejects what waits and what is still to come', async () => {
  const { stream, node } = await started(21);
  stream.isDown = true;
  const waiting = node.log.append(0, [command('waiting')], () => undefined);
  node.log.close();
  await assert.rejects(waiting, { code: 'shutting_down' });
  await assert.rejects(
    node.log.append(0, [command('late')], () => undefined),
    { code: 'shutting_down' },
  );
});

test('a node that looks whether the stream has what it has received goes on while writes come', async () => {
  const { stream, node } = await started(13);
  const looks: Promise<boolean | undefined>[] = [];
  for (let i = 0; i < 60; i++) {
    looks.push(node.log.agrees().catch(() => undefined));
    await node.log.append(0, [command(`while ${i}`)], () => undefined);
  }
  const agreed = await Promise.all(looks);
  assert.ok(agreed.includes(true) && !agreed.includes(false), agreed.join());
  stream.messages.splice(-5);
  await until(async () => !(await node.log.agrees().catch(() => true)), 'lost messages are not noticed');
  assert.equal(node.log.fenced, 'regress');
  node.log.close();
});

test('another node with other results of the same messages fences the node', async () => {
  const { stream, node } = await started(8);
  const other = new FakeNode('b', stream, createPrng(9));
  const { hash } = other;
  other.hash = (target) => `${hash(target)}, and something else`;
  await until(() => node.log.fenced === 'diverged', 'the node is not fenced');
  node.log.close();
  other.log.close();
});

for (const gone of [[], ['d', 'e']])
  test(`of three nodes the one with other results is fenced, and the others go on; ${gone.length} are gone`, async () => {
    const stream = new FakeStream(createPrng(16));
    const [a, b, c] = ['a', 'b', 'c'].map(
      (name, i) => new FakeNode(name, stream, createPrng(17 + i), 60_000, gone),
    ) as [FakeNode, FakeNode, FakeNode];
    await a.log.append(0, [command('before')], () => undefined);
    const { hash } = b;
    b.hash = (target) => `${hash(target)}, and something else`;
    for (let i = 0; b.log.fenced === undefined; i++) {
      await a.log.append(0, [command(`a ${i}`)], () => undefined);
      await c.log.append(1, [command(`c ${i}`)], () => undefined);
      await sleep(100);
    }
    assert.deepEqual([b.log.fenced, b.log.nodes.standing()], ['diverged', 'outvoted']);
    // It tells what it has for as long as it is fenced.
    await sleep(3000);
    assert.deepEqual([a.log.fenced, c.log.fenced], [undefined, undefined]);
    assert.deepEqual([a.log.nodes.standing(), c.log.nodes.standing()], ['most', 'most']);
    await a.log.append(0, [command('after')], () => undefined);
    for (const { log } of [a, b, c]) log.close();
  });

test('a write that the stream acknowledges and loses is refused once another message has its place', async () => {
  const { stream, node } = await started(14);
  stream.losesNext = true;
  const lost = assert.rejects(
    node.log.append(0, [command('lost')], () => undefined),
    { code: 'log_unavailable' },
  );
  await until(() => !stream.losesNext);
  await node.log.append(0, [command('in its place')], () => undefined);
  await lost;
  assert.equal(node.log.fenced, undefined);
  node.log.close();
});

test('a log that does not answer refuses a write after a while, and says that its outcome is not known', async () => {
  const { stream, node } = await started(10);
  stream.isDown = true;
  await assert.rejects(
    node.log.append(0, [command('lost')], () => undefined),
    { code: 'log_unavailable' },
  );
  node.log.close();
});

test('what all nodes have applied is deleted once the stream is half full, and nothing else', async () => {
  const prng = createPrng(12);
  const stream = new FakeStream(prng);
  const nodes = ['a', 'b'].map((name) => new FakeNode(name, stream, prng, 100));
  const [node] = nodes as [FakeNode];
  for (let i = 0; i < 30; i++)
    for (const target of [0, 1, 'catalog'] as const) await node.log.append(target, [command(`${i}`)], () => undefined);
  await until(() => nodes.some(({ log }) => log.isLeader), 'nobody leads');
  await sleep(1500);
  const trimmedTo = (): number => stream.trimmedTo;
  assert.equal(trimmedTo(), 0, 'the stream is empty enough');
  stream.bytes = 600 * 1024;
  await until(() => trimmedTo() > 0, 'nothing is deleted');
  // The last message of each target is the one that a node begins with after a restart.
  const kept = Math.min(...['0', '1', 'catalog'].map((target) => stream.lastOf(target)?.sequence ?? 0));
  assert.ok(kept >= 80 && trimmedTo() <= kept, `deleted before ${trimmedTo()}, needed from ${kept}`);
  for (const { log } of nodes) log.close();
});

test('a stream that is nearly full keeps nothing for nodes that are away, if two nodes have it', async () => {
  const prng = createPrng(31);
  const stream = new FakeStream(prng);
  const first = new FakeNode('a', stream, prng, 100, ['x']);
  for (let i = 0; i < 30; i++)
    for (const target of [0, 1, 'catalog'] as const) await first.log.append(target, [command(`${i}`)], () => undefined);
  const trimmedTo = (): number => stream.trimmedTo;
  stream.bytes = 800 * 1024;
  await sleep(1500);
  assert.equal(trimmedTo(), 0, 'only one node has what is deleted');
  stream.bytes = 700 * 1024;
  const second = new FakeNode('b', stream, prng, 100);
  await until(() => second.log.applied >= 90, 'the second node does not catch up');
  await sleep(1500);
  assert.equal(trimmedTo(), 0, 'the stream is not nearly full');
  stream.bytes = 800 * 1024;
  await until(() => trimmedTo() > 0, 'the node that is away keeps everything');
  for (const { log } of [first, second]) log.close();
});

test('a fenced node, whose data may be other, keeps what comes after its last own message, until the stream is nearly full', async () => {
  const prng = createPrng(33);
  const stream = new FakeStream(prng);
  const [first, fenced] = ['a', 'b'].map((name) => new FakeNode(name, stream, prng, 100)) as [FakeNode, FakeNode];
  for (let i = 0; i < 40; i++)
    for (const target of [0, 1, 'catalog'] as const) await first.log.append(target, [command(`${i}`)], () => undefined);
  await until(() => fenced.log.applied >= 120, 'the other node does not catch up');
  fenced.log.leave();
  await until(() => first.log.nodes.all().some((each) => each.fenced !== null), 'the fence is not heard of');
  const trimmedTo = (): number => stream.trimmedTo;
  stream.bytes = 700 * 1024;
  await sleep(1500);
  assert.equal(trimmedTo(), 0, 'the fenced node cannot see any more which messages it alone has');
  stream.bytes = 800 * 1024;
  await until(() => trimmedTo() > 0, 'the fenced node fills the stream');
  for (const { log } of [first, fenced]) log.close();
});

test('a stream that is full but for what the nodes need refuses writes at once, and barriers are still made', async () => {
  const { stream, node } = await started(32);
  stream.bytes = 1000 * 1024;
  await until(() => node.log.fullness > 0.95);
  await assert.rejects(
    node.log.append(0, [command('late')], () => undefined),
    { code: 'log_unavailable', message: /is full, so nothing is written/ },
  );
  assert.ok((await node.log.barrier()) > 0);
  stream.bytes = 0;
  await until(() => node.log.fullness < 0.95);
  await node.log.append(0, [command('in time')], () => undefined);
  node.log.close();
});

test('nodes that start on a stream without any room serve reads, delete what all have, and write again', {
  timeout: 60_000,
}, async () => {
  const prng = createPrng(33);
  const stream = new FakeStream(prng);
  const before = new FakeNode('a', stream, prng);
  for (let i = 0; i < 10; i++) await before.log.append(0, [command(`${i}`)], () => undefined);
  before.log.close();
  const { sequence, id } = stream.messages.at(-1) as StreamMessage;
  const begun: AppliedLog = { position: { stream: stream.id, sequence, done: 1, id }, messages: [] };
  [stream.isFull, stream.bytes] = [true, 1024 * 1024];
  // The second one deletes nothing before the first one serves reads.
  const nodes = [
    new FakeNode('a', stream, prng, 15_000, ['x'], begun),
    new FakeNode('b', stream, prng, 15_000, [], begun),
  ];
  for (const { log } of nodes) await until(() => log.isReady, 'reads are not served');
  assert.ok(stream.isFull, 'what all have is deleted too early');
  await until(() => !stream.isFull, 'nothing is deleted');
  const [first] = nodes as [FakeNode];
  await until(
    () =>
      first.log
        .append(0, [command('after')], () => undefined)
        .then(
          () => true,
          () => false,
        ),
    'nothing is written',
  );
  for (const { log } of nodes) log.close();
});

test('one node leads, and another takes over when it is not heard of', { timeout: 60_000 }, async () => {
  const prng = createPrng(11);
  const stream = new FakeStream(prng);
  const nodes = ['a', 'b'].map((name) => new FakeNode(name, stream, prng));
  const leaders = (): FakeNode[] => nodes.filter(({ log }) => log.isLeader);
  await until(() => leaders().length === 1, 'nobody leads');
  const [first] = leaders() as [FakeNode];
  first.log.close();
  await until(() => leaders().some((node) => node !== first), 'nobody takes over');
  for (const { log } of nodes) log.close();
});
