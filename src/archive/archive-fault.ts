// Why an archive is refused: a word for programs, which becomes `details.reason`, and a sentence for people. Thrown by
// all that reads archives, in whatever thread or process; who knows what the archive was to be gives it the code.
import { AppError } from '../contract/errors.js';

export type ArchiveReason =
  | 'not_a_zip'
  | 'unsafe_path'
  | 'symlink'
  | 'duplicate_entry'
  | 'encrypted_entry'
  | 'overlapping_entries'
  | 'compression_ratio'
  | 'too_large'
  | 'missing_entry'
  | 'unexpected_entry'
  | 'digest_mismatch'
  | 'size_mismatch'
  | 'count_mismatch'
  | 'manifest_invalid'
  | 'format_unknown'
  | 'service_version'
  | 'schema_version'
  | 'document_invalid'
  | 'duplicate_document'
  | 'query_invalid'
  | 'settings_invalid'
  | 'embedder_unknown'
  | 'wrong_kind'
  | 'not_in_archive';

export type ArchiveCode = 'archive_invalid' | 'collection_archive_invalid';

export class ArchiveFault extends Error {
  override readonly name = 'ArchiveFault';

  constructor(
    readonly reason: ArchiveReason,
    message: string,
  ) {
    super(message);
  }

  /** As it is told to the client. */
  refusal(code: ArchiveCode): AppError {
    return new AppError(code, this.message, { details: { reason: this.reason } });
  }
}
