import { organizationsMigrations } from '../../adapters/sql/organizations/migrations.ts'
import { mapLeft } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../core/kernel/failure.ts'
import { makeSqlRightsStore } from '../../adapters/sql/authz/access-context.ts'
import { makeSqlProvenStores } from '../../adapters/sql/identity/identity-stores.ts'
import { makeSqlAccessTokenStore } from '../../adapters/sql/identity/token-store.ts'
import { makeSqlAvatarStore } from '../../adapters/sql/identity/profile-store.ts'
import { makeSqlInvitationStore } from '../../adapters/sql/organizations/invitation-store.ts'
import {
  makeSqlMembershipStore,
  makeSqlOrganizationTokenStore,
} from '../../adapters/sql/organizations/membership-store.ts'
import { makeSqlOrganizationStore } from '../../adapters/sql/organizations/organization-store.ts'
import { organizationObjectRows } from '../../adapters/sql/organizations/rows.ts'
import { makeSqlPolicyStore } from '../../adapters/sql/organizations/policy-store.ts'
import { makeSqlRobotStore } from '../../adapters/sql/organizations/robot-store.ts'
import { makeSqlTeamStore } from '../../adapters/sql/organizations/team-store.ts'
import type { Catalogue } from '../../core/authz/types.ts'
import { isCredentialInForce } from '../../core/identity/credentials.ts'
import { randomBase62, EntropyPort, secret } from '../../core/kernel/secret.ts'
import { parseEmailAddress, readableAddress } from '../../core/identity/emails/email-address.ts'
import type { DomainNames, TokenDigest } from '../../core/identity/ports.ts'
import { DomainNamesPort, TokenDigestPort } from '../../core/identity/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { permissionKey } from '../../core/kernel/access.ts'
import type { Entropy } from '../../core/kernel/secret.ts'
import { providedMemberships } from '../../core/organizations/teams/provided-memberships.ts'
import type { AddressReader, InvitationTokens } from '../../core/organizations/invitations/ports.ts'
import {
  AddressReaderPort,
  InvitationStorePort,
  InvitationTokensPort,
} from '../../core/organizations/invitations/ports.ts'
import {
  PolicyStorePort,
  MembershipStorePort,
  ProvidedMembershipsPort,
  OrganizationStorePort,
  OrganizationTokenStorePort,
  OrganizationUnitOfWorkPort,
  TeamStorePort,
  RobotStorePort,
} from '../../core/organizations/ports.ts'
import type { PermissionLevels } from '../../core/kernel/rights.ts'
import { PermissionLevelsPort } from '../../core/kernel/rights.ts'
import { organizationsPlugin } from '../../plugins/organizations/plugin.ts'
import { bind, lazily } from '../part/binding.ts'
import type { DemoSeeder } from '../part/part.ts'
import { demoDescription } from '../part/part.ts'
import { ownPage } from '../part/pages/web-page.ts'
import { definePart } from '../part/part.ts'
import { bindMailingUnitOfWork } from './units-of-work.ts'

/** Provides more than 190 random bits. */
const tokenLength = 32

/** Returns identity's rules for addresses in the form that organizations need. */
const addressReader = (domains: DomainNames): AddressReader => ({
  read: (text) => mapLeft(({ message }: Failure) => message)(parseEmailAddress(text, domains)),
  readable: (address) => readableAddress(address, domains),
})

/** Returns identity's generation and hashing of random secrets in the form that organizations need. */
const invitationTokens = (entropy: Entropy, digest: TokenDigest): InvitationTokens => ({
  make: () => secret(randomBase62(entropy, tokenLength)),
  digest: (value) => digest.digest(value),
})

const levelsOf = (catalogue: Catalogue): PermissionLevels => {
  const levels = new Map(catalogue.permissions.map((permission) => [permissionKey(permission), permission.level]))
  return { levelOf: (permission) => levels.get(permissionKey(permission)) }
}

const seedOrganizations: DemoSeeder = async ({ vendor, customers, send, tell }) => {
  for (const { name, fullName, people } of [vendor, ...customers]) {
    tell(`organization ${name}`)
    await send('POST', '/orgs', { username: name, full_name: fullName, description: demoDescription })
    const teams = (await send('GET', `/orgs/${name}/teams`)) as readonly {
      readonly id: number
      readonly name: string
    }[]
    for (const { login, team } of people)
      await send('PUT', `/teams/${teams.find((each) => each.name === team)?.id ?? 0}/members/${login}`)
    const onCall = (await send('POST', `/orgs/${name}/teams`, { name: 'on-call', permission: 'read' })) as {
      readonly id: number
    }
    await send('PUT', `/teams/${onCall.id}/members/${people.at(-1)?.login ?? ''}`)
    await send('POST', `/orgs/${name}/robots`, {
      name: 'deployer',
      description: 'Rolls out from the pipeline',
      team_ids: [onCall.id],
    })
  }
}

/** Organizations, their members, teams, invitations and robots. */
export const part = definePart({
  plugin: organizationsPlugin,
  demo: seedOrganizations,
  migrations: organizationsMigrations,
  objectRows: organizationObjectRows,
  pages: [ownPage('accept-invitation', 'Invitation to an organization')],
  tags: [
    {
      name: 'Identity - Organizations & Teams',
      description: 'Organizations, their members and teams.',
      after: 'Identity - Users & Settings',
    },
  ],
  provide(boot) {
    const { database } = boot
    const stores = lazily(() => ({
      organizations: makeSqlOrganizationStore(database, boot.heldObjects),
      teams: makeSqlTeamStore(database),
      memberships: makeSqlMembershipStore(database),
      rights: makeSqlRightsStore(database),
      tokens: makeSqlOrganizationTokenStore(database),
      invitations: makeSqlInvitationStore(database),
      policies: makeSqlPolicyStore(database),
      robots: makeSqlRobotStore(database),
      accessTokens: makeSqlAccessTokenStore(database),
      proven: makeSqlProvenStores(database),
      avatars: makeSqlAvatarStore(database),
    }))
    return [
      bind(PermissionLevelsPort, {}, () => levelsOf(boot.catalogue)),
      bind(ProvidedMembershipsPort, {}, () => providedMemberships),
      bind(OrganizationStorePort, {}, () => stores().organizations(database)),
      bind(TeamStorePort, {}, () => stores().teams(database)),
      bind(MembershipStorePort, {}, () => stores().memberships(database)),
      bind(OrganizationTokenStorePort, {}, () => stores().tokens(database)),
      bind(InvitationStorePort, {}, () => stores().invitations(database)),
      bind(PolicyStorePort, {}, () => stores().policies(database)),
      bind(RobotStorePort, {}, () => stores().robots(database)),
      bind(AddressReaderPort, { domainNames: DomainNamesPort }, ({ domainNames }) => addressReader(domainNames)),
      bind(InvitationTokensPort, { entropy: EntropyPort, tokenDigest: TokenDigestPort }, ({ entropy, tokenDigest }) =>
        invitationTokens(entropy, tokenDigest),
      ),
      bindMailingUnitOfWork(
        database,
        OrganizationUnitOfWorkPort,
        ({ clock }) =>
          (tx) => ({
            organizations: stores().organizations(tx),
            teams: stores().teams(tx),
            memberships: stores().memberships(tx),
            rights: stores().rights(tx),
            tokens: stores().tokens(tx),
            invitations: stores().invitations(tx),
            policies: stores().policies(tx),
            robots: stores().robots(tx),
            accessTokens: stores().accessTokens(tx),
            callers: { isStillProven: (principal) => isCredentialInForce(stores().proven(tx), clock, principal) },
            avatars: stores().avatars(tx),
          }),
        { clock: ClockPort },
      ),
    ]
  },
})
