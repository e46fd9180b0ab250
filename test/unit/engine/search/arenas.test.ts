// A collection that spans several small arenas gives the same hits as one in a single large arena: under any writes,
// when another owner takes over, and when all arenas are full; deletes free memory again. A second seed runs in
// test/system.
import { test } from 'node:test';
import { spanArenas } from '../../../kit/engine/arenas.js';

test('a collection that spans arenas answers as one in a single arena (seed 1)', () => spanArenas(1));
