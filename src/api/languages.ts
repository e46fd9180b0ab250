// The languages whose words a collection can be ranked by. Read by the configuration, the create endpoint, the
// catalog's record and src/text, which stems them. Constants.

/** `none`: words are ranked as they stand. */
export const LANGUAGES = [
  'none',
  'arabic',
  'armenian',
  'danish',
  'dutch',
  'english',
  'finnish',
  'french',
  'german',
  'greek',
  'hindi',
  'hungarian',
  'indonesian',
  'irish',
  'italian',
  'lithuanian',
  'nepali',
  'norwegian',
  'portuguese',
  'romanian',
  'russian',
  'serbian',
  'spanish',
  'swedish',
  'tamil',
  'turkish',
] as const;

export type Language = (typeof LANGUAGES)[number];

/** Of an instance that names none: README.md of this folder says why. */
export const LANGUAGE_DEFAULT: Language = 'english';
