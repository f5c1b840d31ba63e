import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import { accountNameFrom, parseAccountName } from '../../kernel/ids.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Entropy } from '../../kernel/secret.ts'
import { hex } from '../../kernel/secret.ts'
import type { PreparedUser, UserFounder } from '../../identity/ports.ts'
import type { EmailAddress, User } from '../../identity/types.ts'
import type { AddressReader } from '../../organizations/invitations/ports.ts'
import { auditOfLink } from '../audit.ts'
import { memberByAddress } from '../domains/members.ts'
import { ExternalAccountTaken, ExternalAccountUnknown, ExternalNameTaken } from '../failures.ts'
import type { ExternalAccountStore, ProviderStores } from '../ports.ts'
import type { ExternalAccount, ExternalIdentity, Provider } from '../types.ts'

export interface AdmissionDeps {
  readonly addresses: AddressReader
  readonly clock: Clock
  readonly entropy: Entropy
  readonly founder: UserFounder
}

export type AdmissionFailure =
  | Failure<'ExternalAccountUnknown'>
  | Failure<'ExternalNameTaken'>
  | Failure<'ExternalAccountTaken'>

/** The user of an external sign-in, locked. `link` is undefined for one that the caller is to link. */
export interface Admitted {
  readonly user: User
  readonly link: ExternalAccount | undefined
  readonly isCreated: boolean
}

/** The same sentence whether an account with the address exists or not. */
const unknown = (provider: Provider): Failure<'ExternalAccountUnknown'> =>
  ExternalAccountUnknown(
    `No account here belongs to this sign-in with ${provider.displayName}. If you have an account, sign in as before ` +
      'and link it on your account page. Otherwise ask an administrator of your organization for an account.',
  )

const domainOf = ({ key }: EmailAddress): string => key.slice(key.lastIndexOf('@') + 1)

const addressOf = ({ addresses }: AdmissionDeps, { email }: ExternalIdentity): EmailAddress | undefined => {
  const read = email === '' ? left('') : addresses.read(email)
  return isLeft(read) ? undefined : read.right
}

/** Returns the member whom a person is linked to by address, if the organization allows it and the provider vouches for it. */
const linkedMember = async (
  deps: AdmissionDeps,
  stores: ProviderStores,
  { orgId, options }: Provider,
  { email, isEmailVerified }: ExternalIdentity,
): Promise<User | undefined> => {
  if (orgId === undefined || !options.linksVerifiedDomains || !isEmailVerified) return undefined
  const { identity, organizations, domains } = stores
  return memberByAddress(deps, { identity, memberships: organizations.memberships, domains }, orgId, email)
}

/** Returns whether the provider decides about the address: an organization only about the domains that it has verified. */
const isAddressOwned = async (
  stores: ProviderStores,
  provider: Provider,
  identity: ExternalIdentity,
  address: EmailAddress,
): Promise<boolean> => {
  if (provider.orgId !== undefined) return stores.domains.hasVerified(provider.orgId, domainOf(address))
  const { allowedDomains } = await stores.identity.siteRules.read()
  return identity.isEmailVerified && (allowedDomains.length === 0 || allowedDomains.includes(domainOf(address)))
}

/** Returns the name of a new account, from the part before the `@` of the preferred name. @internal */
export const loginFor = ({ preferredName, email }: Pick<ExternalIdentity, 'preferredName' | 'email'>): string =>
  accountNameFrom((preferredName === '' ? email : preferredName).split('@')[0] ?? '')

const nameTaken = (login: string): Failure<'ExternalNameTaken'> =>
  ExternalNameTaken(
    `An account for you cannot have the name "${login.slice(0, 40)}": it is taken, reserved or not a valid name. If ` +
      'that account is yours, sign in with its password and link it on your account page. Otherwise ask an ' +
      'administrator to create an account for you under another name.',
  )

/**
 * Prepares the account that the first sign-in of a person creates, before the transaction: it costs a password hash.
 * Undefined if the person is known, or the provider creates no accounts. Left: the name is not valid.
 */
export const prepareNewcomer = async (
  deps: AdmissionDeps & { readonly accounts: Pick<ExternalAccountStore, 'bySubject'> },
  provider: Provider,
  identity: ExternalIdentity,
): Outcome<Failure<'ExternalNameTaken'>, PreparedUser | undefined> => {
  const address = addressOf(deps, identity)
  if (!provider.options.allowsCreation || address === undefined) return right(undefined)
  if ((await deps.accounts.bySubject(provider.id, identity.issuer, identity.subject)) !== undefined)
    return right(undefined)
  const login = loginFor(identity)
  if (isLeft(parseAccountName(login))) return left(nameTaken(login))
  const fullName = identity.fullName.slice(0, 100)
  const prepared = await deps.founder.prepare({ login, email: address.text, fullName, isExpected: true })
  return isLeft(prepared) ? left(nameTaken(login)) : prepared
}

const createUser = async (
  deps: AdmissionDeps,
  stores: ProviderStores,
  provider: Provider,
  identity: ExternalIdentity,
  newcomer: PreparedUser | undefined,
): Outcome<AdmissionFailure, User> => {
  const address = addressOf(deps, identity)
  if (newcomer === undefined || address === undefined) return left(unknown(provider))
  if (!(await isAddressOwned(stores, provider, identity, address))) return left(unknown(provider))
  if (await stores.identity.emails.isTaken(address.key)) return left(unknown(provider))
  const login = loginFor(identity)
  if ((await stores.identity.users.kindOfName(login)) !== undefined) return left(nameTaken(login))
  const made = await newcomer.insertIn(stores.identity, deps.clock.now())
  if (isLeft(made)) return left(made.left.tag === 'UserNameTaken' ? nameTaken(login) : unknown(provider))
  return made
}

/**
 * Returns the user of a person whom a provider has proven. The key is provider, issuer and subject: an address alone
 * leads to no account, except as `memberByAddress` says. A new account is inserted; a new link is not.
 */
export const admit = async (
  deps: AdmissionDeps,
  stores: ProviderStores,
  provider: Provider,
  identity: ExternalIdentity,
  newcomer: PreparedUser | undefined,
): Outcome<AdmissionFailure, Admitted> => {
  const { issuer, subject } = identity
  const found = await stores.accounts.bySubject(provider.id, issuer, subject)
  if (found !== undefined) {
    const user = await stores.identity.users.lock(found.userId)
    const link = await stores.accounts.lockBySubject(provider.id, issuer, subject)
    if (user === undefined || link?.userId !== user.id) return left(unknown(provider))
    return right({ user, link, isCreated: false })
  }
  const member = await linkedMember(deps, stores, provider, identity)
  if (member !== undefined) return right({ user: member, link: undefined, isCreated: false })
  const created = await createUser(deps, stores, provider, identity, newcomer)
  return isLeft(created) ? created : right({ user: created.right, link: undefined, isCreated: true })
}

const taken = (provider: Provider): Failure<'ExternalAccountTaken'> =>
  ExternalAccountTaken(
    `This account of ${provider.displayName} is linked already, or you have linked another one. Remove that link first.`,
  )

/** Links a person to a user, whose row is locked. */
export const linkTo = async (
  deps: Pick<AdmissionDeps, 'clock' | 'entropy'>,
  stores: ProviderStores,
  provider: Provider,
  identity: ExternalIdentity,
  { user, isCreated }: { readonly user: Pick<User, 'id' | 'login'>; readonly isCreated: boolean },
): Outcome<Failure<'ExternalAccountTaken'>, ExternalAccount> => {
  const at = deps.clock.now()
  const { issuer, subject, email } = identity
  const fresh = {
    providerId: provider.id,
    issuer,
    subject,
    userId: user.id,
    isCreated,
    email: email.slice(0, 254),
    createdAt: at,
    signedInAt: at,
    ref: hex(deps.entropy.bytes(16)),
  }
  const id = await stores.accounts.insert(fresh)
  if (id === undefined) return left(taken(provider))
  await stores.audit.record(
    auditOfLink(user, 'user.external_account_linked', { provider: provider.name, provider_id: provider.id, subject }),
  )
  return right({ ...fresh, id, sealedRefreshToken: undefined, nextCheckAt: undefined, endedAt: undefined })
}

/** Returns the link that a signed-in user asked for, to a person who is linked to no other user. */
export const linkCaller = async (
  deps: Pick<AdmissionDeps, 'clock' | 'entropy'>,
  stores: ProviderStores,
  provider: Provider,
  identity: ExternalIdentity,
  userId: UserId,
): Outcome<Failure<'ExternalAccountTaken'>, { readonly user: User; readonly link: ExternalAccount }> => {
  const user = await stores.identity.users.lock(userId)
  if (user === undefined) return left(taken(provider))
  const found = await stores.accounts.lockBySubject(provider.id, identity.issuer, identity.subject)
  if (found !== undefined) return found.userId === userId ? right({ user, link: found }) : left(taken(provider))
  const link = await linkTo(deps, stores, provider, identity, { user, isCreated: false })
  return isLeft(link) ? link : right({ user, link: link.right })
}
