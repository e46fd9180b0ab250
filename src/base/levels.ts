// How deep lists and objects stand in each other. JSON.parse takes any depth, but JSON.stringify, a structured clone and
// whatever walks a value by calling itself end with the stack: so depth is looked at where a value comes in. Pure.

/** Whether there are more than `levels` of them; a scalar has none. Looks no deeper than that. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner));
}
