import { isLeft } from 'fp-ts/lib/Either.js'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
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
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import { AuditChainToken } from '../../core/audit/ports.ts'
import type { Catalogue } from '../../core/authz/types.ts'
import { isCredentialInForce } from '../../core/identity/authentication/credentials.ts'
import { randomBase62 } from '../../core/identity/tokens/access-tokens.ts'
import { parseEmailAddress } from '../../core/identity/emails/email-address.ts'
import type { OrganizationStores } from '../../core/organizations/ports.ts'
import type { DomainNames, TokenDigest } from '../../core/identity/ports.ts'
import { DomainNamesToken, TokenDigestToken } from '../../core/identity/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { permissionKey } from '../../core/kernel/access.ts'
import type { Entropy } from '../../core/kernel/secret.ts'
import { EntropyToken, secret } from '../../core/kernel/secret.ts'
import { OutboxNotifierToken } from '../../core/mail/ports.ts'
import { notifyAfterCommit } from '../../core/mail/delivery.ts'
import type { AddressReader, InvitationTokens } from '../../core/organizations/invitations/ports.ts'
import {
  AddressReaderToken,
  InvitationStoreToken,
  InvitationTokensToken,
} from '../../core/organizations/invitations/ports.ts'
import {
  PolicyStoreToken,
  MembershipStoreToken,
  OrganizationStoreToken,
  OrganizationTokenStoreToken,
  OrganizationUnitOfWorkToken,
  TeamStoreToken,
  RobotStoreToken,
} from '../../core/organizations/ports.ts'
import type { PermissionLevels } from '../../core/kernel/rights.ts'
import { PermissionLevelsToken } from '../../core/kernel/rights.ts'
import type { Provide } from '../boot.ts'
import { BindMailOutboxToken } from './mail.ts'

/** Provides more than 190 random bits. */
const tokenLength = 32

/** Returns identity's rules for addresses in the form that organizations need. */
const addressReader = (domains: DomainNames): AddressReader => ({
  read: (text) => {
    const address = parseEmailAddress(text, domains)
    return isLeft(address) ? undefined : address.right
  },
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

export const provideOrganizations: Provide = (container, boot) => {
  const { database } = boot
  boot.objectRows.add(...organizationObjectRows)
  const organizations = makeSqlOrganizationStore(database, boot.heldObjects)
  const teams = makeSqlTeamStore(database)
  const memberships = makeSqlMembershipStore(database)
  const rights = makeSqlRightsStore(database)
  const tokens = makeSqlOrganizationTokenStore(database)
  const invitations = makeSqlInvitationStore(database)
  const policies = makeSqlPolicyStore(database)
  const robots = makeSqlRobotStore(database)
  const accessTokens = makeSqlAccessTokenStore(database)
  const proven = makeSqlProvenStores(database)
  const avatars = makeSqlAvatarStore(database)
  container.provideValue(PermissionLevelsToken, levelsOf(boot.catalogue))
  container.provide(OrganizationStoreToken, () => organizations(database))
  container.provide(TeamStoreToken, () => teams(database))
  container.provide(MembershipStoreToken, () => memberships(database))
  container.provide(OrganizationTokenStoreToken, () => tokens(database))
  container.provide(InvitationStoreToken, () => invitations(database))
  container.provide(PolicyStoreToken, () => policies(database))
  container.provide(RobotStoreToken, () => robots(database))
  container.provide(AddressReaderToken, (resolve) => addressReader(resolve(DomainNamesToken)))
  container.provide(InvitationTokensToken, (resolve) =>
    invitationTokens(resolve(EntropyToken), resolve(TokenDigestToken)),
  )
  container.provide(OrganizationUnitOfWorkToken, (resolve) => {
    const outbox = resolve(BindMailOutboxToken)
    const unitOfWork = makeSqlUnitOfWork<OrganizationStores>(
      database,
      (tx, audit) => ({
        organizations: organizations(tx),
        teams: teams(tx),
        memberships: memberships(tx),
        rights: rights(tx),
        tokens: tokens(tx),
        invitations: invitations(tx),
        policies: policies(tx),
        robots: robots(tx),
        accessTokens: accessTokens(tx),
        callers: { isStillProven: (principal) => isCredentialInForce(proven(tx), resolve(ClockToken), principal) },
        avatars: avatars(tx),
        audit,
        mail: outbox(tx),
      }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    )
    return notifyAfterCommit(unitOfWork, resolve(OutboxNotifierToken))
  })
}
