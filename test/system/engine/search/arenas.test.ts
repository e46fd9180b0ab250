// A collection that spans several small arenas gives the same hits as one in a single large arena, with a seed that
// takes too long for test/unit.
import { test } from 'node:test';
import { spanArenas } from '../../../kit/engine/arenas.js';

test('a collection that spans arenas answers as one in a single arena (seed 2)', () => spanArenas(2));
