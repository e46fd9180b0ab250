// The metadata a client sees on a chunk: the document's, overlaid by the chunk's own (offset, page, row). Both are
// stored as JSON text; unless a key occurs in both they are joined as text, without being parsed. Pure.

/** `documentJson` overlaid by `chunkJson`, as JSON text. Both are texts of JSON objects. */
export function mergedMetaJson(documentJson: string, chunkJson: string): string {
  if (chunkJson === '{}') return documentJson;
  const chunk = JSON.parse(chunkJson) as Record<string, unknown>;
  const mayCollide = Object.keys(chunk).some((key) => documentJson.includes(JSON.stringify(key)));
  if (mayCollide) return overlaid(documentJson, chunk) ?? joined(documentJson, chunkJson);
  return joined(documentJson, chunkJson);
}

const joined = (documentJson: string, chunkJson: string): string =>
  documentJson === '{}' ? chunkJson : `${documentJson.slice(0, -1)},${chunkJson.slice(1)}`;

/**
 * undefined for metadata nested too deep to be written again, which archives were restored with: joined, a key may stand
 * there twice, and readers take the second.
 */
function overlaid(documentJson: string, chunk: Record<string, unknown>): string | undefined {
  try {
    return JSON.stringify({ ...(JSON.parse(documentJson) as object), ...chunk });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
