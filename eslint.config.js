import tseslint from 'typescript-eslint'
import { processRule } from './test/arch/process-rule.js'

// Each message names what to write instead.

const product = ['core/**/*.ts', 'plugins/**/*.ts', 'adapters/**/*.ts', 'composition/**/*.ts']

const syntax = [
  {
    selector: 'ExportDefaultDeclaration',
    message: 'No default export: export the value under the name that the file carries.',
  },
  {
    selector: 'Decorator',
    message: 'No decorators (Node strips types and runs the rest): bind the port in composition/parts.',
  },
  {
    selector: 'TSEnumDeclaration',
    message: 'No enums: write a union of literals, with an `as const` list where the values are needed.',
  },
  { selector: 'TSModuleDeclaration[kind="namespace"]', message: 'No namespaces: a file is the module.' },
  {
    selector:
      "CallExpression[callee.object.name='JSON'][callee.property.name='parse'][arguments.0.type='CallExpression'][arguments.0.callee.object.name='JSON']",
    message: 'No deep copy through JSON: use structuredClone, or build a new value.',
  },
]

const fpTsImports = {
  regex: '^fp-ts(?!/lib/[A-Za-z]+\\.js$)',
  message: "Import fp-ts in one form: import { left } from 'fp-ts/lib/Either.js'.",
}
const fpTsLittle = {
  regex: '^fp-ts/lib/(?!(Either|TaskEither|function|ReadonlyArray|NonEmptyArray|Ord|Eq)\\.js$)',
  message:
    'fp-ts is used for Either, TaskEither, pipe and the little else that this rule allows. A missing value is `A | undefined`; the environment is function arguments.',
}
const httpClients = {
  regex: '^(node:)?(https|http2)$|^(undici|axios|got|node-fetch|ky|superagent|request)$',
  message:
    'Requests leave through adapters/outbound only, which pins addresses and checks redirects: take a port, or use that adapter.',
}
const imports = (...patterns) => ['error', { patterns }]

const fetchMessage =
  'fetch follows redirects and resolves names by itself: requests leave through adapters/outbound only.'
const fromClock =
  'Take the time from the Clock port (core/kernel/clock.ts), which keeps the time of the database: docs/decisions/one-clock.md.'
const localTime = [
  { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: fromClock },
  { selector: "MemberExpression[object.name='Date'][property.name='now']", message: fromClock },
  { selector: "CallExpression[callee.name='Date']", message: fromClock },
]
const decimals = 'Money and quantities are exact: use decimal and toMinor of core/rating/money.ts.'
const floats = [
  { selector: 'CallExpression[callee.name=/^(Number|parseFloat|parseInt)$/]', message: decimals },
  { selector: 'BinaryExpression[operator=/^(\\*|\\u002f|%|\\*\\*)$/]', message: decimals },
  { selector: 'AssignmentExpression[operator=/^(\\*|\\u002f|%|\\*\\*)=$/]', message: decimals },
  { selector: "MemberExpression[object.name='Math'][property.name=/^(round|floor|ceil|trunc)$/]", message: decimals },
]
const globalFetch = {
  selector: "MemberExpression[object.name='globalThis'][property.name='fetch']",
  message: fetchMessage,
}

/** What the scripts of the pages use of the browser. */
const browserGlobals = Object.fromEntries(
  [
    'AbortController',
    'addEventListener',
    'document',
    'fetch',
    'history',
    'location',
    'navigator',
    'PublicKeyCredential',
    'sessionStorage',
    'setTimeout',
    'DOMParser',
    'URL',
    'URLSearchParams',
  ].map((name) => [name, 'readonly']),
)
/** What the scripts of the console use beside them. Their type check knows the rest. */
const consoleGlobals = Object.fromEntries(
  [
    'Blob',
    'btoa',
    'confirm',
    'crypto',
    'DOMException',
    'Element',
    'EventSource',
    'getComputedStyle',
    'HTMLAnchorElement',
    'HTMLElement',
    'HTMLFormElement',
    'clearTimeout',
    'queueMicrotask',
    'removeEventListener',
    'ResizeObserver',
    'scrollTo',
    'TextEncoder',
  ].map((name) => [name, 'readonly']),
)
const asHtml = ['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'write', 'writeln'].map((property) => ({
  property,
  message: 'Texts from the service are shown as text: use textContent.',
}))

const coreSyntax = [
  ...syntax,
  ...localTime,
  {
    selector: "MemberExpression[object.name='Math'][property.name='random']",
    message: 'Randomness comes from the Entropy port (core/kernel/secret.ts).',
  },
  {
    selector: 'ThrowStatement > NewExpression[callee.name=/Failure$/]',
    message: 'A failure is answered on the Left, never thrown.',
  },
]

const exactJson = {
  object: 'JSON',
  property: 'stringify',
  message: 'It throws at an integer beyond 2^53, which is a bigint here: use toWireJson of core/kernel/json.ts.',
}
const noFetch = { name: 'fetch', message: fetchMessage }
const buffer = { name: 'Buffer', message: 'The core has no Node: use Uint8Array, or take a port.' }
const processGlobal = { name: 'process', message: 'The core has no Node: take what you need as an argument.' }

export default tseslint.config(
  {
    ignores: [
      'node_modules/**',
      'dist/**',
      'data/**',
      'test/arch/fixtures/**',
      'test/shared-processes/**',
      '**/*.cjs',
      '**/*.mjs',
    ],
  },
  {
    files: ['**/*.ts'],
    // Rules that need types are in test/arch/oxlint.json.
    languageOptions: { parser: tseslint.parser },
    plugins: { '@typescript-eslint': tseslint.plugin },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      '@typescript-eslint/no-unused-vars': [
        'error',
        {
          argsIgnorePattern: '^_',
          varsIgnorePattern: '^_',
          destructuredArrayIgnorePattern: '^_',
          ignoreRestSiblings: true,
        },
      ],
      'no-restricted-syntax': ['error', ...syntax],
      'no-restricted-imports': imports(fpTsImports, fpTsLittle),
      eqeqeq: 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-new-func': 'error',
      'max-lines': ['error', 500],
    },
  },
  {
    files: product,
    rules: {
      'no-console': 'error',
      'no-restricted-globals': ['error', noFetch],
      'no-restricted-properties': ['error', exactJson],
      'no-restricted-imports': imports(fpTsImports, fpTsLittle, httpClients),
      'no-restricted-syntax': ['error', ...syntax, globalFetch, ...localTime],
      // A factory holds the functions that it returns, laid out over many lines; those stay under the budget of 50 lines.
      'max-lines-per-function': ['error', { max: 120, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: ['core/**/*.ts'],
    rules: {
      'no-restricted-globals': ['error', noFetch, buffer, processGlobal],
      'no-restricted-syntax': ['error', ...coreSyntax],
    },
  },
  {
    // Months are whole numbers; everything else here is money.
    files: ['core/rating/**/*.ts', 'plugins/rating/**/*.ts'],
    ignores: ['core/rating/months.ts'],
    rules: { 'no-restricted-syntax': ['error', ...coreSyntax, ...floats] },
  },
  {
    // The clock itself, certificates, files of this machine, and what a terminal shows: nothing that instances share.
    files: [
      'adapters/system/system-clock.ts',
      'adapters/security/{keyring,tls-identity}.ts',
      'adapters/helm/process/{bundled-helm,work-folder}.ts',
      'composition/runtime/cli/doctor/doctor-checks.ts',
      'composition/part/saved-logins.ts',
      'composition/parts/{clusters/kubeconfig,tasks/tasks}.ts',
    ],
    rules: { 'no-restricted-syntax': ['error', ...syntax, globalFetch] },
  },
  {
    // The writer itself, and the log, which writes a bigint and an error as text.
    files: ['core/kernel/json.ts', 'adapters/logging/bunyan-log.ts'],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    // They run in browsers as they are: nothing compiles or bundles them.
    files: ['composition/part/pages/files/**/*.js'],
    languageOptions: { ecmaVersion: 2022, globals: browserGlobals },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'no-undef': 'error',
      'no-unused-vars': 'error',
      'no-restricted-properties': ['error', ...asHtml],
      eqeqeq: 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-new-func': 'error',
      'no-console': 'error',
    },
  },
  {
    // They run in browsers too, and are checked by types: adapters/console/site/tsconfig.json.
    files: ['adapters/console/site/**/*.js'],
    languageOptions: { ecmaVersion: 2024, globals: { ...browserGlobals, ...consoleGlobals } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'no-undef': 'error',
      'no-unused-vars': 'error',
      'no-restricted-properties': [
        'error',
        ...asHtml,
        { object: 'globalThis', property: 'localStorage', message: 'Nothing is kept in the browser.' },
      ],
      'no-restricted-globals': ['error', 'localStorage', 'indexedDB'],
      eqeqeq: 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-new-func': 'error',
      'no-console': 'error',
      'max-lines': ['error', 500],
    },
  },
  { files: ['test/**/*.ts'], rules: { '@typescript-eslint/no-non-null-assertion': 'off' } },
  {
    files: ['test/**/*.test.ts'],
    plugins: { moorage: { rules: { process: processRule } } },
    rules: { 'moorage/process': 'error' },
  },
  { files: ['adapters/**/*.ts'], rules: { 'no-restricted-imports': imports(fpTsImports, fpTsLittle) } },
)
