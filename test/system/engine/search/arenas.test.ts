// A collection that spans several small arenas answers as one that has one large arena, for longer than test/unit does.
import { test } from 'node:test';
import { spanArenas } from '../../../kit/engine/arenas.js';

test('a collection that spans arenas answers as one in a single arena (seed 2)', () => spanArenas(2));
