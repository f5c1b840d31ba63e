import type { Describe } from './part/describe.ts'
import type { AnyPart } from './part/part.ts'
import { auditCommands } from './parts/audit/commands.ts'
import { loginCommands } from './parts/authorization-server/commands.ts'
import { busCommands } from './parts/bus/commands.ts'
import { kubeconfigCommands } from './parts/clusters/commands.ts'
import { contractsCommands } from './parts/contracts/commands.ts'
import { marketplaceCommands } from './parts/marketplace/commands.ts'
import { adminCommands } from './parts/identity/commands.ts'
import { helmCommands } from './parts/packages/commands.ts'
import { tasksCommands } from './parts/tasks/commands.ts'
import { usageCommands } from './parts/usage/commands.ts'

interface ListedPart {
  load(): Promise<{ readonly part: AnyPart }>
  readonly commands?: Describe
}

/**
 * Every part of the service, in the order in which a part may use the ports of others. This is the only list:
 * everything else iterates over it. A part is loaded when it is first needed, and a command that only calls a running
 * server needs none; so the commands of a part, which `--help` shows, are named here. MOORAGE_PLUGINS adds the parts of
 * a deployer.
 */
const parts = [
  { load: () => import('./parts/platform.ts') },
  { load: () => import('./parts/mail/part.ts') },
  { load: () => import('./parts/identity/part.ts'), commands: adminCommands },
  { load: () => import('./parts/organizations.ts') },
  { load: () => import('./parts/authz.ts') },
  { load: () => import('./parts/audit/part.ts'), commands: auditCommands },
  { load: () => import('./parts/bus/part.ts'), commands: busCommands },
  { load: () => import('./parts/identity-providers/part.ts') },
  { load: () => import('./parts/provisioning.ts') },
  { load: () => import('./parts/authorization-server/part.ts'), commands: loginCommands },
  { load: () => import('./parts/webhooks.ts') },
  { load: () => import('./parts/tasks/part.ts'), commands: tasksCommands },
  { load: () => import('./parts/clusters/part.ts'), commands: kubeconfigCommands },
  { load: () => import('./parts/hubs/spokes.ts') },
  { load: () => import('./parts/hubs/clustersets.ts') },
  { load: () => import('./parts/hubs/featuresets.ts') },
  { load: () => import('./parts/client-orgs.ts') },
  { load: () => import('./parts/metrics-proxy.ts') },
  { load: () => import('./parts/packages/part.ts'), commands: helmCommands },
  { load: () => import('./parts/packages/repositories.ts') },
  { load: () => import('./parts/contracts/part.ts'), commands: contractsCommands },
  { load: () => import('./parts/usage/part.ts'), commands: usageCommands },
  { load: () => import('./parts/rating/part.ts') },
  { load: () => import('./parts/clouds.ts') },
  { load: () => import('./parts/marketplace/metering.ts') },
  { load: () => import('./parts/marketplace/part.ts'), commands: marketplaceCommands },
  { load: () => import('./parts/marketplace/hooks.ts') },
  { load: () => import('./parts/marketplace/messages.ts') },
  { load: () => import('./parts/platform-version.ts') },
  { load: () => import('./parts/console.ts') },
  { load: () => import('./parts/reference-names.ts') },
] as const satisfies readonly ListedPart[]

export type OwnPart = Awaited<ReturnType<(typeof parts)[number]['load']>>['part']

/** The commands of the parts of this repository. */
export const partCommands: readonly Describe[] = parts.flatMap((part) => ('commands' in part ? [part.commands] : []))

/** Loads the parts of this repository, in the order of the list. */
export const loadParts = async (): Promise<readonly AnyPart[]> =>
  Promise.all(parts.map(async ({ load, ...listed }) => ({ ...(await load()).part, ...listed })))
