import type { TokenDigest } from '../identity/ports.ts'
import type { Clock } from '../kernel/clock.ts'
import type { UserId } from '../kernel/ids.ts'
import { isSameBytes } from '../kernel/secret.ts'
import type { AccountReads, ApplicationStore, ProtocolDirectory, TeamDirectory } from './ports.ts'
import { claimsOf, groupsOf } from './claims.ts'
import type { Application } from './types.ts'
import { commandLineClientId } from './types.ts'

/** More teams of one person are not looked at. */
const mostTeams = 1_000

export interface DirectoryDeps {
  readonly accounts: AccountReads
  readonly applications: Pick<ApplicationStore, 'byClientId' | 'insert'>
  readonly teams: TeamDirectory
  readonly digest: TokenDigest
  readonly clock: Clock
}

/** The command line of this service, which every server knows. It is registered again if it was removed. */
const commandLine = async ({ applications, clock }: DirectoryDeps): Promise<Application | undefined> => {
  const known = await applications.byClientId(commandLineClientId)
  if (known !== undefined) return known
  await applications.insert({
    owner: { userId: undefined, orgId: undefined },
    name: 'Moorage command line',
    clientId: commandLineClientId,
    isPublic: true,
    addresses: { redirectUris: ['http://127.0.0.1/'], postLogoutRedirectUris: [], backChannelLogoutUri: '' },
    robotId: undefined,
    logo: undefined,
    secretHash: undefined,
    formerSecretHash: undefined,
    formerSecretUntil: undefined,
    createdAt: clock.now(),
  })
  return applications.byClientId(commandLineClientId)
}

const isSame = (a: Uint8Array, b: Uint8Array | undefined): boolean => b !== undefined && isSameBytes(a, b)

/** Returns what the protocol may know of people and applications. */
export const makeProtocolDirectory = (deps: DirectoryDeps): ProtocolDirectory => {
  const activeUser = async (subject: string) => {
    if (!/^[1-9]\d{0,15}$/.test(subject)) return undefined
    const user = await deps.accounts.users.byId(Number(subject) as UserId)
    return user === undefined || !user.isActive || user.prohibitLogin ? undefined : user
  }
  return {
    application: (clientId) =>
      clientId === commandLineClientId ? commandLine(deps) : deps.applications.byClientId(clientId),
    async secretOf(clientId, presented) {
      const application = await deps.applications.byClientId(clientId)
      if (application === undefined || application.isPublic) return 'none'
      // Digests of values of 256 random bits: the time of the comparison says nothing that would help.
      const hash = deps.digest.digest(presented)
      const { secretHash, formerSecretHash, formerSecretUntil } = application
      const isFormer = formerSecretUntil !== undefined && deps.clock.now().getTime() < formerSecretUntil.getTime()
      if (isSame(hash, secretHash)) return 'current'
      return isFormer && isSame(hash, formerSecretHash) ? 'former' : 'none'
    },
    async claims(subject, clientId, scopes) {
      const user = await activeUser(subject)
      if (user === undefined) return undefined
      const [emails, teams, application] = await Promise.all([
        scopes.includes('email') ? deps.accounts.emails.list(user.id) : [],
        scopes.includes('groups') ? deps.teams.teamsOf(user.id, mostTeams) : [],
        scopes.includes('groups') ? deps.applications.byClientId(clientId) : undefined,
      ])
      const primary = emails.find(({ isPrimary }) => isPrimary)
      const email = primary === undefined ? undefined : { address: primary.email, isVerified: primary.verified }
      return {
        claims: claimsOf({ user, email, groups: groupsOf(teams, application?.orgId) }, scopes),
        organizations: [...new Set(teams.map(({ orgId }) => orgId))],
      }
    },
    isActive: async (subject) => (await activeUser(subject)) !== undefined,
  }
}
