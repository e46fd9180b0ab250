// Rules that find faults, with type information. How code is laid out is Biome's, who may import whom is
// dependency-cruiser's (.dependency-cruiser.mjs), what nothing uses is knip's (knip.json) and the compiler's.
import tseslint from 'typescript-eslint';

/** For every file. */
const faults = {
  'array-callback-return': 'error',
  eqeqeq: ['error', 'always', { null: 'ignore' }],
  'no-async-promise-executor': 'error',
  'no-constant-binary-expression': 'error',
  'no-self-compare': 'error',
  'no-unsafe-finally': 'error',
  'no-unsafe-optional-chaining': 'error',
  'no-unused-expressions': 'error',
  'no-useless-assignment': 'error',
  'no-var': 'error',
  'prefer-const': 'error',
  'preserve-caught-error': 'error',
  // Work left to do belongs in an issue.
  'no-warning-comments': ['error', { terms: ['todo', 'fixme', 'xxx'], location: 'anywhere' }],
  'no-restricted-exports': [
    'error',
    {
      restrictDefaultExports: {
        direct: true,
        named: true,
        defaultFrom: true,
        namedFrom: true,
        namespaceFrom: true,
      },
    },
  ],
};

/** For TypeScript: they ask the compiler. */
const typed = {
  '@typescript-eslint/await-thenable': 'error',
  '@typescript-eslint/consistent-type-imports': [
    'error',
    { disallowTypeAnnotations: false, fixStyle: 'inline-type-imports' },
  ],
  // The promises of node:test need no awaiting: the runner waits for them.
  '@typescript-eslint/no-floating-promises': [
    'error',
    {
      allowForKnownSafeCalls: [{ from: 'package', package: 'node:test', name: ['test', 'describe', 'it', 'suite'] }],
    },
  ],
  '@typescript-eslint/no-for-in-array': 'error',
  '@typescript-eslint/no-misused-promises': 'error',
  '@typescript-eslint/no-unnecessary-condition': 'error',
  // What was caught may be thrown again, whatever it is.
  '@typescript-eslint/only-throw-error': ['error', { allowThrowingUnknown: true }],
  '@typescript-eslint/prefer-promise-reject-errors': ['error', { allowThrowingUnknown: true }],
  '@typescript-eslint/restrict-plus-operands': 'error',
  '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
  '@typescript-eslint/switch-exhaustiveness-check': 'error',
};

/** For what is shipped. */
const shipped = {
  '@typescript-eslint/no-explicit-any': 'error',
  '@typescript-eslint/no-unsafe-call': 'error',
  '@typescript-eslint/no-unsafe-member-access': 'error',
  'no-template-curly-in-string': 'error',
  // What is shipped logs (src/base/log.ts); only the command line prints.
  'no-console': 'error',
  // The environment is read by the entry point; everything else gets it as an argument.
  'no-restricted-properties': ['error', { object: 'process', property: 'env', message: 'Take it as an argument.' }],
};

export default [
  // The kernel is AssemblyScript, which the compiler checks by tsconfigs of its own.
  { ignores: ['dist*/', 'clients/*/dist/', 'data/', 'models/', 'src/engine/kernel/', 'src/base/assembly/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.{ts,tsx}'],
    plugins: { '@typescript-eslint': tseslint.plugin },
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: {
        project: ['./tsconfig.json', './src/console/tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: { ...faults, ...typed },
  },
  { files: ['{src,workers}/**/*.{ts,tsx}'], rules: shipped },
  { files: ['src/cli/**/*.ts'], rules: { 'no-console': 'off' } },
  { files: ['src/main.ts'], rules: { 'no-restricted-properties': 'off' } },
  {
    // Scripts have no types: the compiler does not look for their undefined names.
    files: ['scripts/**/*.mjs'],
    languageOptions: {
      globals: Object.fromEntries(
        'AbortController AbortSignal Buffer URL console fetch performance process setTimeout clearTimeout'
          .split(' ')
          .map((name) => [name, 'readonly']),
      ),
    },
    rules: { ...faults, 'no-undef': 'error', 'no-unused-vars': ['error', { ignoreRestSiblings: true }] },
  },
];
