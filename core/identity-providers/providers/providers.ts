import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { definedFields, isSameJson, pickFields } from '../../kernel/json.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { Entropy, SecretBox } from '../../kernel/secret.ts'
import { hex } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfProvider } from '../audit.ts'
import { ProviderChanged, ProviderRefused, ProvidersNotAllowed } from '../failures.ts'
import type {
  DirectorySearch,
  OpenIdConnect,
  ProviderOwner,
  ProviderSettings,
  ProviderStore,
  ProviderStores,
} from '../ports.ts'
import { ProviderMissing } from '../ports.ts'
import { makeClientOf, makeDirectoryOf, sealClientSecret } from '../sealing.ts'
import type { Provider, ProviderContent, ProviderDescription, ProviderId } from '../types.ts'
import { isOtherChannel } from './directory-form.ts'
import type { ProviderForm, ReadProvider } from './provider-form.ts'
import { readProvider, teamsOf } from './provider-form.ts'

/** Maximum number of providers of one owner. */
const maxProviders = 20

export const providerMissing = (): Failure<'ProviderMissing'> =>
  ProviderMissing('The identity provider does not exist, or is switched off.')

interface ReadDeps {
  readonly providers: ProviderStore
}

/** Lists the providers of an owner, by name. */
export const makeListProviders =
  ({ providers }: ReadDeps) =>
  async (
    _call: SignedInCall<never>,
    { owner, page }: { readonly owner: ProviderOwner; readonly page: PageRequest },
  ): Outcome<never, Page<Provider>> =>
    right(await providers.list(owner, page))

/** A provider by its id, or by its name. */
export type ProviderRef = { readonly id: ProviderId } | { readonly name: string }

const findIn = (providers: ProviderStore, owner: ProviderOwner, ref: ProviderRef): Promise<Provider | undefined> =>
  'id' in ref ? providers.find(owner, ref.id) : providers.findByName(owner, ref.name)

export interface ShownProvider {
  readonly owner: ProviderOwner
  readonly ref: ProviderRef
}

export const makeShowProvider =
  ({ providers }: ReadDeps) =>
  async (_call: SignedInCall<never>, { owner, ref }: ShownProvider): Outcome<Failure<'ProviderMissing'>, Provider> => {
    const provider = await findIn(providers, owner, ref)
    return provider === undefined ? left(providerMissing()) : right(provider)
  }

export interface ChangeProviderDeps extends ReadDeps {
  readonly unitOfWork: UnitOfWork<ProviderStores>
  readonly directories: Pick<DirectorySearch, 'filterProblem'>
  readonly secretBox: SecretBox
  readonly entropy: Entropy
  readonly clock: Clock
  readonly settings: ProviderSettings
}

type SaveFailure = Failure<'ProviderRefused'> | Failure<'ProviderNameTaken'> | Failure<'ProvidersNotAllowed'>

const notAllowed = (owner: ProviderOwner, settings: ProviderSettings): Failure<'ProvidersNotAllowed'> | undefined =>
  owner === undefined || settings.allowsOrganizations
    ? undefined
    : ProvidersNotAllowed(
        'Organizations have no identity providers of their own on this installation. Ask its operator.',
      )

/** Refuses teams of other organizations: a provider gives nothing outside of its owner. */
const checkTeams = async (
  stores: ProviderStores,
  owner: ProviderOwner,
  { options }: ReadProvider,
): Outcome<Failure<'ProviderRefused'>, void> => {
  for (const id of teamsOf(options)) {
    const team = await stores.organizations.teams.findById(id)
    if (team === undefined || (owner !== undefined && team.orgId !== owner))
      return left(ProviderRefused(`There is no team ${id} that this provider may put people into.`))
  }
  return right(undefined)
}

/** Returns the content with its secret sealed under a new reference, or with the secret of before. */
const sealedContent = async (
  deps: ChangeProviderDeps,
  owner: ProviderOwner,
  read: ReadProvider,
  { clientSecret }: ProviderForm,
  before: Provider | undefined,
): Outcome<Failure<'ProviderRefused'>, ProviderContent> => {
  const isNew = clientSecret !== undefined && clientSecret !== null && clientSecret.reveal() !== ''
  if (isNew) {
    const ref = hex(deps.entropy.bytes(16))
    return right({ ...read, ref, sealedSecret: await sealClientSecret(deps.secretBox, owner, ref, clientSecret) })
  }
  const keeps = clientSecret !== null && before?.sealedSecret !== undefined
  // The secret would be sent to the new address.
  if (keeps && isOtherChannel(before, read))
    return left(ProviderRefused('client_secret: must be sent again, since the issuer or its encryption changes.'))
  // A directory takes a DN without a password for an anonymous caller.
  if (read.kind === 'ldap' && read.clientId !== '' && !keeps)
    return left(ProviderRefused('client_secret: is required with a DN to search with.'))
  return right({
    ...read,
    ref: before?.ref ?? hex(deps.entropy.bytes(16)),
    sealedSecret: keeps ? before.sealedSecret : undefined,
  })
}

export interface CreateProviderInput {
  readonly owner: ProviderOwner
  readonly form: ProviderForm
}

/** Creates a provider. No request is sent to it: `makeCheckProvider` does. */
export const makeCreateProvider =
  (deps: ChangeProviderDeps) =>
  async (call: SignedInCall<Provider>, { owner, form }: CreateProviderInput): Outcome<SaveFailure, Provider> => {
    const barred = notAllowed(owner, deps.settings)
    if (barred !== undefined) return left(barred)
    const read = readProvider(form, undefined, deps.directories.filterProblem)
    if (isLeft(read)) return read
    const content = await sealedContent(deps, owner, read.right, form, undefined)
    if (isLeft(content)) return content
    return deps.unitOfWork.run<SaveFailure, Provider>(call, async (stores) => {
      if ((await stores.providers.count(owner)) >= maxProviders)
        return left(ProviderRefused(`There are ${maxProviders} identity providers already. Remove one first.`))
      const teams = await checkTeams(stores, owner, read.right)
      if (isLeft(teams)) return teams
      const inserted = await stores.providers.insert(owner, content.right, deps.clock.now())
      if (isLeft(inserted)) return inserted
      const provider = await stores.providers.find(owner, inserted.right)
      if (provider === undefined) throw new Error('a provider that was just inserted is not there')
      await stores.audit.record(auditOfProvider(provider, 'identity_provider.created', shown(provider)))
      return right(provider)
    })
  }

/** What the audit log shows of a provider. It has no secret. */
const shown = ({ kind, issuer, clientId, isActive, options, directory, sealedSecret }: Provider) => ({
  type: kind,
  issuer,
  client_id: clientId,
  is_active: isActive,
  has_secret: sealedSecret !== undefined,
  scopes: options.scopes,
  allows_creation: options.allowsCreation,
  links_verified_domains: options.linksVerifiedDomains,
  groups_claim: options.groupsClaim,
  group_teams: options.groupRules.length,
  ...definedFields({ default_team: options.defaultTeamId }),
  ...(directory === undefined
    ? {}
    : {
        starttls: directory.usesStartTls,
        user_base: directory.userBase,
        user_filter: directory.userFilter,
        id_attribute: directory.idAttribute,
        trusts_mail: directory.trustsMail,
        group_base: directory.groupBase,
      }),
})

/** Reports whether nothing would change. A new secret has a new reference. */
const isSameContent = (before: Provider, { sealedSecret, ...after }: ProviderContent): boolean =>
  isSameJson(pickFields(after, before), after) && (sealedSecret === undefined) === (before.sealedSecret === undefined)

export interface ReplaceProviderInput extends ShownProvider {
  readonly form: ProviderForm
}

type ReplaceFailure = SaveFailure | Failure<'ProviderMissing'> | Failure<'ProviderChanged'>

/** Changes a provider. What the form leaves out stays, and so does the client secret unless the issuer changes. */
export const makeReplaceProvider =
  (deps: ChangeProviderDeps) =>
  async (
    call: SignedInCall<Provider>,
    { owner, ref, form }: ReplaceProviderInput,
  ): Outcome<ReplaceFailure, Provider> => {
    const barred = notAllowed(owner, deps.settings)
    if (barred !== undefined) return left(barred)
    const before = await findIn(deps.providers, owner, ref)
    if (before === undefined) return left(providerMissing())
    const read = readProvider(form, before, deps.directories.filterProblem)
    if (isLeft(read)) return read
    const content = await sealedContent(deps, owner, read.right, form, before)
    if (isLeft(content)) return content
    return deps.unitOfWork.run<ReplaceFailure, Provider>(call, async (stores) => {
      const teams = await checkTeams(stores, owner, read.right)
      if (isLeft(teams)) return teams
      if (isSameContent(before, content.right)) return right(before)
      const replaced = await stores.providers.replace(owner, before.id, before.version, content.right, deps.clock.now())
      if (isLeft(replaced)) return replaced
      const provider = replaced.right ? await stores.providers.find(owner, before.id) : undefined
      if (provider === undefined)
        return left(ProviderChanged('Another request changed the identity provider. Read it and try again.'))
      await stores.audit.record(auditOfProvider(provider, 'identity_provider.changed', shown(provider)))
      return right(provider)
    })
  }

/**
 * Removes a provider with the links of its people. Their accounts and sessions stay: an account that the provider
 * created gets a password by mail.
 */
export const makeRemoveProvider =
  (deps: Pick<ChangeProviderDeps, 'providers' | 'unitOfWork'>) =>
  async (call: SignedInCall<void>, { owner, ref }: ShownProvider): Outcome<Failure<'ProviderMissing'>, void> => {
    const provider = await findIn(deps.providers, owner, ref)
    if (provider === undefined) return left(providerMissing())
    return deps.unitOfWork.run<Failure<'ProviderMissing'>, void>(call, async (stores) => {
      if (!(await stores.providers.remove(owner, provider.id))) return left(providerMissing())
      await stores.audit.record(auditOfProvider(provider, 'identity_provider.deleted'))
      return right(undefined)
    })
  }

export interface CheckProviderDeps extends ReadDeps {
  readonly openIdConnect: OpenIdConnect
  readonly directories: DirectorySearch
  readonly secretBox: SecretBox
  readonly clock: Clock
}

/** Asks the provider for its description, or searches a directory, and records how that went. */
export const makeCheckProvider = (deps: CheckProviderDeps) => {
  const clientOf = makeClientOf(deps.secretBox)
  const directoryOf = makeDirectoryOf(deps.secretBox)
  const describe = async (
    { signal }: SignedInCall<never>,
    provider: Provider,
  ): Outcome<Failure<'ProviderUnavailable'>, ProviderDescription> => {
    const directory = await directoryOf(provider)
    if (directory === undefined) return deps.openIdConnect.describe(await clientOf(provider), signal)
    const checked = await deps.directories.check(directory, { sourceIp: undefined, signal })
    if (isLeft(checked)) return checked
    return right({ issuer: provider.issuer, hasEndSession: false, hasBackChannelLogout: false, scopes: [] })
  }
  return async (
    call: SignedInCall<never>,
    { owner, ref }: ShownProvider,
  ): Outcome<Failure<'ProviderMissing'> | Failure<'ProviderUnavailable'>, ProviderDescription> => {
    const provider = await findIn(deps.providers, owner, ref)
    if (provider === undefined) return left(providerMissing())
    const described = await describe(call, provider)
    await deps.providers.mark(provider.id, isLeft(described) ? described.left.message : '', deps.clock.now())
    return described
  }
}
