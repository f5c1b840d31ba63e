// What each folder may import. Each rule is proven alive by test/arch/fixtures/bad. docs/adding.md says what a new part needs here.

/** The parts in the order in which one may use another's ports and types; one line, one rank. */
const ranks = [
  ['mail'],
  ['identity'],
  ['organizations'],
  ['authz'],
  ['audit', 'tasks', 'bus'],
  ['authorization-server', 'identity-providers', 'webhooks'],
  ['provisioning'],
  ['clusters'],
  ['cluster-tasks'],
  ['clouds', 'packages'],
  ['hubs'],
  ['client-orgs', 'metrics-proxy'],
  ['contracts'],
  ['usage'],
  ['rating'],
  ['marketplace'],
  ['reference-names'],
]
const rankOf = new Map(ranks.flatMap((parts, rank) => parts.map((part) => [part, rank])))
const earlierThan = (part) => [...rankOf].filter(([, rank]) => rank < rankOf.get(part)).map(([other]) => other)
const anyOf = (parts) => (parts.length === 0 ? '(?!)' : `(${parts.join('|')})`)

const npm = (...names) => `node_modules/(@types/)?(${names.join('|')})/`
const fpTs = npm('fp-ts')
const ioTs = npm('io-ts')
/** Exact decimal numbers: no library of a format or of the environment. */
const bigJs = npm('big.js')
/** Vendors' packages that an operator installs or not (peerDependenciesMeta: optional). */
const vendorSdks = npm(
  '@aws-sdk/client-marketplace-metering',
  '@aws-sdk/client-s3',
  '@aws-sdk/s3-request-presigner',
  '@azure/storage-blob',
  '@google-cloud/storage',
  '@googleapis/servicecontrol',
)

const corePartRules = [...rankOf.keys()].map((part) => ({
  name: `core-${part}`,
  comment: `core/${part} uses the kernel, the formats, itself, and types.ts and ports.ts of an earlier part. Move the shared rule into the kernel, or take what you need as a port.`,
  severity: 'error',
  from: { path: `^core/${part}/` },
  to: {
    path: '^core/',
    pathNot: [
      '^core/(kernel|formats)/',
      `^core/${part}/`,
      `^core/${anyOf(earlierThan(part))}/(.+/|)([^/]+-|)(types|ports)\\.ts$`,
    ],
  },
}))

const pluginPartRules = [...rankOf.keys()].map((part) => ({
  name: `plugin-${part}`,
  comment: `plugins/${part} uses the kit, the kernel, its own core part, types.ts and ports.ts of other parts, and the wire shapes (codecs.ts, *-wire.ts) of an earlier part's plugin.`,
  severity: 'error',
  from: { path: `^plugins/${part}/` },
  to: {
    path: '^(core|plugins)/',
    pathNot: [
      '^plugins/kit/',
      `^plugins/${part}/`,
      '^core/(kernel|formats)/',
      `^core/${part}/`,
      '^core/[^/]+/(.+/|)([^/]+-|)(types|ports)\\.ts$',
      `^plugins/${anyOf(earlierThan(part))}/(.+/|)(codecs|[^/]+-wire)\\.ts$`,
    ],
  },
}))

module.exports = {
  forbidden: [
    {
      name: 'no-cycle',
      comment: 'No cycles, type-only imports included: move what both need into a third file.',
      severity: 'error',
      // A file of tables names its own type.
      from: { pathNot: '^adapters/sql/tables/' },
      to: { circular: true },
    },
    {
      name: 'no-folder-cycle',
      comment:
        'Folders of a part do not use each other in a circle: move what both need into the folder above, or into one of them.',
      severity: 'error',
      scope: 'folder',
      from: {},
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment: 'The import names no file that exists.',
      severity: 'error',
      // The types of the API are written by the static checks.
      from: { pathNot: '^adapters/console/types/' },
      to: { couldNotResolve: true },
    },
    {
      name: 'kernel-alone',
      comment: 'core/kernel imports itself and fp-ts.',
      severity: 'error',
      from: { path: '^core/kernel/' },
      to: { pathNot: ['^core/kernel/', fpTs] },
    },
    {
      name: 'core-pure',
      comment: 'The core knows no HTTP, SQL or Node: only itself and fp-ts. Declare a port and let an adapter keep it.',
      severity: 'error',
      from: { path: '^core/', pathNot: '^core/rating/money\\.ts$' },
      to: { pathNot: ['^core/', fpTs] },
    },
    {
      name: 'money-exact',
      comment: 'core/rating/money.ts is the only file of the core with a library for decimal numbers.',
      severity: 'error',
      from: { path: '^core/rating/money\\.ts$' },
      to: { pathNot: ['^core/', fpTs, bigJs] },
    },
    {
      name: 'formats-alone',
      comment:
        'core/formats has the formats and protocols that both the core and adapters need. A file imports nothing of the core but the kernel and other formats.',
      severity: 'error',
      from: { path: '^core/formats/' },
      to: { pathNot: ['^core/(formats|kernel)/', fpTs] },
    },
    {
      name: 'core-part-known',
      comment:
        'The part has no rank. Add it to `ranks` of .dependency-cruiser.cjs, after the parts whose ports it uses, and files that break its rules to test/arch/fixtures/bad, as for the part clouds.',
      severity: 'error',
      from: { path: '^core/', pathNot: `^core/${anyOf(['kernel', 'formats', 'platform', ...rankOf.keys()])}/` },
      to: {},
    },
    ...corePartRules,
    {
      name: 'platform-alone',
      comment: 'core/platform and plugins/platform stand beside the parts and use none of them.',
      severity: 'error',
      from: { path: '^(core|plugins)/platform/' },
      to: { path: '^(core|plugins)/', pathNot: ['^core/(kernel|platform)/', '^plugins/(kit|platform)/'] },
    },
    {
      name: 'kit-alone',
      comment: 'plugins/kit uses the kernel, the port of tasks, whose kinds a plugin declares, fp-ts and io-ts.',
      severity: 'error',
      from: { path: '^plugins/kit/' },
      to: { pathNot: ['^plugins/kit/', '^core/kernel/', '^core/tasks/ports\\.ts$', fpTs, ioTs] },
    },
    {
      name: 'plugins-light',
      comment: 'A plugin maps wire to use case and back: kit, core, fp-ts, io-ts; no Node, no driver, no framework.',
      severity: 'error',
      from: { path: '^plugins/' },
      to: { pathNot: ['^plugins/', '^core/', fpTs, ioTs] },
    },
    ...pluginPartRules,
    {
      name: 'adapters-by-ports',
      comment:
        'An adapter uses the kernel, types.ts and ports.ts of any part, its own folder, what guards requests to outside, and the environment, priority and use of processes and threads; never a use case, a plugin or the composition root.',
      severity: 'error',
      from: { path: '^adapters/([^/]+)/' },
      to: {
        path: '^(core|plugins|composition|adapters)/',
        pathNot: [
          '^core/(kernel|formats)/',
          '^core/[^/]+/(.+/|)([^/]+-|)(types|ports)\\.ts$',
          '^adapters/$1/',
          '^adapters/outbound/',
          '^adapters/system/((helper-)?processes|threads)\\.ts$',
        ],
      },
    },
    {
      name: 'framework-in-composition',
      comment: "restify, tsyringe, reflect-metadata and commander are the composition root's alone.",
      severity: 'error',
      // The library for certificates needs reflect-metadata, on a thread where no composition root runs.
      from: { path: '^(core|plugins|adapters)/', pathNot: '^adapters/licenses/' },
      to: { path: npm('restify', 'tsyringe', 'reflect-metadata', 'commander') },
    },
    {
      name: 'part-at-the-bottom',
      comment: 'composition/part is what a part is made of. The runtime and the parts use it; it uses neither.',
      severity: 'error',
      from: { path: '^composition/part/' },
      to: { path: '^composition/', pathNot: '^composition/part/' },
    },
    {
      name: 'runtime-names-no-part',
      comment:
        'The runtime is given its parts and names none: no import goes up to a part, or to their list. Give the part a field, or a binding for what the runtime needs.',
      severity: 'error',
      from: { path: '^composition/runtime/' },
      to: { path: '^composition/', pathNot: '^composition/(part|runtime)/' },
    },
    {
      name: 'adapters-in-parts',
      comment:
        'Adapters are selected in composition/parts. The runtime uses those of what it is: database, key ring, clock, log, traces, listeners, jobs.',
      severity: 'error',
      from: { path: '^composition/', pathNot: '^composition/parts/' },
      to: {
        path: '^adapters/',
        pathNot: [
          '^adapters/(api-client|logging|outbound|pictures|security|system|tracing)/',
          '^adapters/sql/(engine|kernel|kit)/',
          // Which key ring belongs to the database.
          '^adapters/sql/audit/audit-log\\.ts$',
        ],
      },
    },
    {
      name: 'container-in-one-file',
      comment: 'tsyringe is imported by composition/runtime/container.ts alone.',
      severity: 'error',
      from: { pathNot: '^composition/runtime/container\\.ts$' },
      to: { path: npm('tsyringe') },
    },
    {
      name: 'no-test-code',
      comment: 'The product never imports its tests.',
      severity: 'error',
      from: { path: '^(core|plugins|adapters|composition)/' },
      to: { path: '^test/' },
    },
    {
      name: 'no-dev-dependency',
      comment: 'What runs in production is a dependency, not a devDependency.',
      severity: 'error',
      from: { path: '^(core|plugins|adapters|composition)/' },
      to: {
        dependencyTypes: ['npm-dev'],
        dependencyTypesNot: ['type-only'],
        pathNot: ['node_modules/@types/', vendorSdks],
      },
    },
    {
      name: 'vendor-sdk-lazy',
      comment: 'The package may be absent: load it with import() when it is needed; its types may be imported anyhow.',
      severity: 'error',
      from: { path: '^(core|plugins|adapters|composition)/' },
      to: { path: vendorSdks, dynamic: false, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'vendor-sdk-in-clouds',
      comment:
        "Vendors' packages are used by adapters/clouds and adapters/metering alone, which keep them from the environment's proxies.",
      severity: 'error',
      from: { path: '^(core|plugins|adapters|composition)/', pathNot: '^adapters/(clouds|metering)/' },
      to: { path: vendorSdks },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.mts', '.js', '.mjs', '.cjs', '.json', '.d.ts'],
    },
  },
}
