import { parseArgs } from 'node:util'

export interface HubArguments {
  readonly spokes: number
  readonly clusters: number
  readonly isOpen: boolean
}

export type ParsedHubArguments =
  | { readonly kind: 'run'; readonly run: HubArguments }
  | { readonly kind: 'help' }
  | { readonly kind: 'refused'; readonly reason: string }

const most = { spokes: 100, clusters: 10_000 }

/** Reads the command line of `npm run test-hub`. */
export const parseHubArguments = (args: readonly string[]): ParsedHubArguments => {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        spokes: { type: 'string', default: '3' },
        clusters: { type: 'string', default: '0' },
        open: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) return { kind: 'help' }
    return {
      kind: 'run',
      run: {
        spokes: countOf('spokes', values.spokes),
        clusters: countOf('clusters', values.clusters),
        isOpen: values.open,
      },
    }
  } catch (cause) {
    return { kind: 'refused', reason: cause instanceof Error ? cause.message : String(cause) }
  }
}

const countOf = (name: keyof typeof most, text: string): number => {
  const count = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(count <= most[name])) throw new Error(`--${name} takes a number from 0 to ${most[name]}, not "${text}"`)
  return count
}

export const hubHelpText = `Starts a hub of Open Cluster Management to try things on: a real kube-apiserver for the hub and another one
for spokes, and stand-ins for the controllers and agents of OCM. Ctrl-C ends it and leaves nothing behind.

  npm run test-hub
  npm run test-hub -- --spokes 10
  npm run test-hub -- --clusters 1000

Options
  --spokes N     example spokes with a running agent, by default 3; the last one waits to be accepted
  --clusters N   clusters without agents, in 50 sets with 200 features, for measurements
  --open         without the webhooks of OCM: no checks of rights, and no set "default" for each cluster
  --help         this text

The components are found or built as for the tests: npm test -- --help tells how.
`
