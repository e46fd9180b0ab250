// A shard of several arenas that are small: a collection that spans them answers as one that has one large arena,
// whatever is written, when the shard is taken over, and when all are full; and there is room again after deletes. A
// second seed is in test/system.
import { test } from 'node:test';
import { spanArenas } from '../../../kit/engine/arenas.js';

test('a collection that spans arenas answers as one in a single arena (seed 1)', () => spanArenas(1));
