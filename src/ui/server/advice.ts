// What to do next, by the code of an error: a sentence for the user, where there is something to do.
// Shown by parts/error-note.tsx below what the server said.
import { SheafError, SheafUnreachable } from '../../client/errors.js';

const BY_CODE: Readonly<Record<string, string>> = {
  auth_invalid: 'Press “Key” at the top right and enter a key of this server.',
  auth_forbidden:
    'This key is for another tenant, or lacks the scope. Change the tenant at the top, or use another key.',
  admin_required: 'Only the admin key may do this. Press “Key” at the top right to use it.',
  collection_not_found: 'It may have been deleted or renamed. Choose another in the list on the left, or make it.',
  collection_damaged:
    'Stop the server and run “sheaf check” on its data directory; other collections are not concerned.',
  embedder_unavailable: 'The embedder does not answer. See /health/ready, and try again once it does.',
  vectors_only:
    'This collection holds vectors of your own, not texts. Search it by a vector, such as [0.1, 0.2]; for texts make another collection.',
  dim_mismatch: 'Give a vector of as many numbers as the collection’s embedder has: its settings tell how many.',
  invalid_rerank: 'Name a reranker of the configuration (“rerank.instances”), or leave the field empty.',
  reranker_unavailable: 'Leave the reranker empty, or try again once it answers.',
  search_mode_requires_text: 'Search by a vector in mode vector.',
  collection_conflict: 'Choose another name.',
  file_too_large: 'Cut it, or raise “limits.file_bytes” of the configuration.',
  collection_limit_reached: 'The tenant has as many collections as it may: delete one, or have its quota raised.',
  chunk_limit_reached: 'The collection has as many chunks as it may: delete documents, or have the quota raised.',
  not_ready: 'The server is starting. Try again in some seconds.',
  unsupported_or_invalid_document:
    'Files may be txt, md, html, csv, tsv, json, jsonl, pdf, docx, pptx, xlsx, odt, epub or eml.',
  file_encrypted: 'Save the file without its password and drop it again.',
  file_unreadable: 'The file seems to be cut off or broken: open and save it in its program, then drop it again.',
  no_text_extracted: 'There is no text in it. A scan has to go through text recognition first.',
  reindex_conflict: 'Wait for the job that is under way, or cancel it.',
  reindex_invalid: 'Choose another embedder than the present one, or “the same”, which builds memory and graph anew.',
  tenant_rate_limited: 'Wait a moment and try again.',
  overloaded: 'The server is busy. Wait a moment and try again.',
  shard_unavailable: 'A part of the collection is being loaded. Try again in some seconds.',
  storage_full: 'The disk of the server is full: make room, then try again. Reading goes on meanwhile.',
  storage_failed: 'The disk of the server takes no writes: see its log.',
  validation_error: 'Mend the field that is named and try again.',
  search_mode_disabled: 'Choose another mode; “search.modes” of the configuration says which are served.',
};

export function adviceFor(error: unknown): string | undefined {
  if (error instanceof SheafUnreachable)
    return 'See whether the server is running (“npm start”), then try again, or reload the page.';
  return error instanceof SheafError ? BY_CODE[error.code] : undefined;
}
