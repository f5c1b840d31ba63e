import type { Clock } from '../../kernel/clock.ts'
import type { TeamId } from '../../kernel/ids.ts'
import type { User } from '../../identity/types.ts'
import type { ProvidedMemberships } from '../../organizations/ports.ts'
import { auditOfProvider } from '../audit.ts'
import type { ProviderStores } from '../ports.ts'
import { teamsFor } from '../providers/provider-form.ts'
import type { Provider, ProviderId } from '../types.ts'

/** Returns the mark of memberships that a provider gave. */
const sourceOf = (id: ProviderId): string => `provider ${id}`

export interface ReconcileDeps {
  readonly clock: Clock
  readonly memberships: ProvidedMemberships
}

/** The groups of a person as a provider says, or that it does not say. */
export interface SaidGroups {
  /** Undefined: unknown, which changes nothing. */
  readonly groups: readonly string[] | undefined
  readonly hasGroupsOverage: boolean
}

/** Returns the teams of the rules that exist and that this provider may give. */
const givenTeams = async (
  stores: ProviderStores,
  provider: Provider,
  teamIds: readonly TeamId[],
): Promise<readonly TeamId[]> => {
  const given: TeamId[] = []
  for (const id of teamIds) {
    const team = await stores.organizations.teams.findById(id)
    const isOwn = team !== undefined && (provider.orgId === undefined || team.orgId === provider.orgId)
    if (isOwn) given.push(id)
  }
  return given
}

/**
 * Puts a user into the teams of the person's groups, and takes the user out of those that the provider gave before.
 * Groups that the provider does not say change nothing, and are reported.
 */
export const reconcileTeams = async (
  deps: ReconcileDeps,
  stores: ProviderStores,
  provider: Provider,
  user: Pick<User, 'id' | 'login'>,
  { groups, hasGroupsOverage }: SaidGroups,
): Promise<void> => {
  if (hasGroupsOverage)
    await stores.audit.record(
      auditOfProvider(provider, 'identity_provider.groups_unknown', { user: user.id, login: user.login }),
    )
  if (groups === undefined) return
  const teamIds = await givenTeams(stores, provider, teamsFor(provider, groups))
  const given = { source: sourceOf(provider.id), teamIds, at: deps.clock.now() }
  await deps.memberships.reconcile(stores.organizations, user, given)
}
