// Rendezvous hashing (Thaler and Ravishankar, 1998): which members of a group have a key. Everybody who knows the same
// members comes to the same answer, and a member that joins or leaves moves only the keys that it takes or had. Pure; any
// thread.

/** FNV-1a over the characters, from a seed on, then the finalizer of MurmurHash3; an unsigned number of 32 bits. */
function weightOf(member: string, key: number): number {
  let hash = 0x811c9dc5 ^ key;
  for (let at = 0; at < member.length; at++) hash = Math.imul(hash ^ member.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ key, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The `count` members that have a key, the first one first; all members if they are fewer. */
export function holdersOf(key: number, members: readonly string[], count: number): string[] {
  const weighted = members.map((member) => ({ member, weight: weightOf(member, key) }));
  weighted.sort((a, b) => b.weight - a.weight || (a.member < b.member ? -1 : 1));
  return weighted.slice(0, count).map(({ member }) => member);
}
