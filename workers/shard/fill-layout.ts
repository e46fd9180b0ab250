// When and how the lists of the graph are filled: where that stands in the root of an index, and the constants. Plain
// numbers for both compilers, as in layout.ts; used by assembly/fill.ts in the owner's thread, and by index-state.ts,
// which says when it is due.

/**
 * In the root block of the index: nodes linked since lists were filled last; one more than the row where their filling
 * goes on, 0 while none is under way.
 */
export const ROOT_UNFILLED = 100;
export const ROOT_FILLING = 104;

/**
 * Lists are filled when of so many nodes more than one has been linked since the last time: those of fewer links than
 * this,
 */
export const FILL_SHARE = 3;
export const FILLED_LINKS = 28;
/**
 * with nodes that a walk of this breadth from their own finds, until so many hops bring none that is among the nearest
 * of a full list.
 */
export const FILL_EF = 48;
export const FILL_PATIENCE = 8;
