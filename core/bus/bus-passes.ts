import { isLeft } from 'fp-ts/lib/Either.js'
import type { BusPasses } from '../identity/sessions/ports.ts'
import type { OwnCall } from '../kernel/principal.ts'
import type { IssueCredentials } from './issue-credentials.ts'
import type { BusServer } from './ports.ts'

/** Passes for browsers, out of the same issue as files; nothing is tried while the server is away. */
export const makeBusPasses = (deps: {
  readonly issue: IssueCredentials
  readonly server: BusServer
  readonly ownCall: OwnCall
}): BusPasses => ({
  passFor: async ({ userId, login }, validSeconds) => {
    if (!deps.server.isConfigured || !deps.server.isConnected()) return undefined
    const issued = await deps.issue(deps.ownCall('bus.passFor'), { ownerId: userId, login, purpose: 'pass', lifeSeconds: validSeconds })
    return isLeft(issued) ? undefined : issued.right.claims
  },
})
