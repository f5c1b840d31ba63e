// Files, exports and dependencies that nothing uses are removed. The static checks run this twice: over the whole tree,
// and over the product alone (--production), where an export is tagged @internal that only tests import.

/** Programs that are started by their path, as threads and processes. */
const startedByPath = ['adapters/**/*-thread.ts!', 'composition/parts/usage/closing-{thread,process,program}.ts!']
const benchByPath = [
  'test/bench/{closing/{close-month,group-by-twin},reports/{write-report,pdfkit-twin},twins/*-twin}.ts',
  'test/bench/upstream/{release-cluster,stub-*}.ts',
]

/** The types of the API, which the static checks write. */
const generatedTypes = { 'adapters/console/types/*.d.ts': ['unlisted', 'unresolved'] }

/** What package.json exports on purpose, and no file of ours imports. */
const ofThePackage = {
  ...generatedTypes,
  // The author of another adapter or plugin can name each type of a signature.
  'core/**': ['types'],
  'plugins/kit/**': ['types'],
  // A plugin of another package has the shapes of ours in its own.
  'plugins/**/codecs.ts': ['exports'],
  // The world that a suite needs, for adapters of other packages.
  'test/**/*.suite.ts': ['exports'],
  'composition/runtime/port-tests/**': ['types'],
}

/** What the product itself does not use. A type of core that is not in a signature of its own file is dead. */
const ofTheProduct = {
  ...generatedTypes,
  'plugins/**/codecs.ts': ['exports'],
  // The words of a part, for its adapters.
  'core/**/types.ts': ['exports'],
  // Includes the client, for a program of another package.
  'plugins/kit/**': ['exports'],
  // Contract suites, which only tests and other packages have.
  'composition/runtime/port-tests/**': ['exports'],
  // Prints a part for `npm run part`.
  'composition/runtime/cli/list-part.ts': ['files'],
}

/** Packages whose files are found by their name or path. */
const notImported = ['@redocly/cli', 'axe-core', 'oxfmt']

/** Programs of the system that tests start. */
const ofTheSystem = ['mkfifo', 'openssl', 'script', 'unshare']

/** A line that is no longer needed is an error in the run over the whole tree. */
export default ({ production: isProduction = false }) => ({
  entry: [
    'composition/main.ts!',
    // Served to browsers.
    'adapters/console/site/main.js!',
    // The service within another process, for the users of the package.
    'composition/part/boot.ts!',
    ...startedByPath,
    // It only extends the types of knex.
    'adapters/sql/tables/bound-columns.ts!',
    ...benchByPath,
    // The commands of package.json.
    'test/console/write-api-types.ts',
    'test/{run,bench/run,bench/steps,mutate/run,mutate/substitute,release/release,support/hub/run,usage/sample/run}.ts',
    // Found by its name: the objects of a part, for the tests over all routes.
    'test/*/sample.ts',
    // MOORAGE_PLUGINS of a test names it.
    'test/composition/fixtures/clashing-plugin.ts',
  ],
  project: [
    '{core,plugins,adapters,composition}/**/*.ts!',
    'adapters/console/site/**/*.js!',
    'test/**/*.ts',
    '!test/arch/fixtures/**',
  ],
  ignoreIssues: isProduction ? ofTheProduct : ofThePackage,
  ignoreExportsUsedInFile: isProduction ? { interface: true, type: true } : false,
  ignoreDependencies: isProduction ? [] : notImported,
  ignoreBinaries: isProduction ? [] : ofTheSystem,
  treatConfigHintsAsErrors: true,
})
