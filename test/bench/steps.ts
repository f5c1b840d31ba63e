import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// Prints what each step of a request costs, from the CPU profiles of `--profile`:
//   node test/bench/steps.ts DIRECTORY

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string }
  readonly children?: readonly number[]
}

interface Profile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** The steps of a request, by the function that works or is called for one: the innermost that is named here. */
const steps: readonly (readonly [step: string, form: RegExp])[] = [
  ['(garbage)', /^\(garbage collector\)/],
  [
    'start of the process',
    /internal\/modules|cjs\/loader|esm\/|amaro|bootstrap|composition\/(main|service|boot|assemble|wiring)|openapi\//,
  ],
  ['log line', /adapters\/logging|request-context\.ts report$/],
  ['metrics', /http\/metrics\.ts|prom-client/],
  ['entity tag', /conditional\.ts|internal\/crypto\/hash/],
  ['compression', /compress|node:zlib/],
  ['write', /write-answer\.ts/],
  ['encoding', /reply-answer\.ts|kernel\/json\.ts toWireJson|paging\.ts pageHeaders/],
  ['connections', /http\/connections\.ts/],
  ['guard and context', /guard\.ts|request-target\.ts|addresses\.ts|pages\//],
  [
    'authentication',
    /authenticate\.ts|credentials\.ts|core\/identity\/auth|adapters\/sql\/identity|access-memory|access-changes|revisions/,
  ],
  ['authorization', /core\/authz|adapters\/sql\/authz/],
  ['decoding', /decode\.ts|request\/paging\.ts|check-request\.ts|body\.ts/],
  ['scope and budgets', /request-scope\.ts|log-scope\.ts|reading-budgets\.ts|async_context_frame/],
  ['binding', /bind-route\.ts|api-server\.ts|request-context\.ts/],
  ['handler', /plugins\/|bench-plugin|adapters\/sql|better-sqlite3|knex/],
  ['router', /restify|find-my-way/],
]

const nameOf = ({ callFrame: { functionName, url } }: ProfileNode): string =>
  functionName.startsWith('(') ? functionName : `${url} ${functionName}`

const stepOf = (text: string): string | undefined => steps.find(([, form]) => form.test(text))?.[0]

/** The microseconds of each step in a profile. */
const costs = (profile: Profile): ReadonlyMap<string, number> => {
  const byId = new Map(profile.nodes.map((node) => [node.id, node]))
  const parents = new Map(profile.nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node.id])))
  const known = new Map<number, string>()
  const stepOfNode = (id: number): string => {
    const found = known.get(id)
    if (found !== undefined) return found
    const node = byId.get(id)
    const parent = parents.get(id)
    const step =
      (node === undefined ? undefined : stepOf(nameOf(node))) ??
      (parent === undefined ? "Node's server and event loop" : stepOfNode(parent))
    known.set(id, step)
    return step
  }
  const sums = new Map<string, number>()
  for (const [index, id] of profile.samples.entries()) {
    const node = byId.get(id)
    if (node === undefined || node.callFrame.functionName === '(idle)') continue
    const step = stepOfNode(id)
    sums.set(step, (sums.get(step) ?? 0) + (profile.timeDeltas[index] ?? 0))
  }
  return sums
}

const [directory = '.'] = process.argv.slice(2)
const profiles = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.cpuprofile'))
  .map((file) => JSON.parse(readFileSync(join(directory, file), 'utf8')) as Profile)
const [largest] = profiles.toSorted((a, b) => b.nodes.length - a.nodes.length)
if (largest !== undefined) {
  const sums = costs(largest)
  const ofStart = sums.get('start of the process') ?? 0
  const all = [...sums.values()].reduce((sum, each) => sum + each, 0) - ofStart
  for (const [step, cost] of [...sums].toSorted(([, a], [, b]) => b - a))
    if (step !== 'start of the process')
      process.stdout.write(`${((100 * cost) / all).toFixed(1).padStart(5)} %  ${step}\n`)
}
