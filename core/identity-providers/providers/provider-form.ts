import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../kernel/failure.ts'
import type { TeamId } from '../../kernel/ids.ts'
import { toWireJson } from '../../kernel/json.ts'
import type { Secret } from '../../kernel/secret.ts'
import { ProviderRefused } from '../failures.ts'
import type { DirectorySearch } from '../ports.ts'
import type { DirectoryOptions, GroupRule, Provider, ProviderKind, ProviderOptions } from '../types.ts'
import type { DirectoryForm } from './directory-form.ts'
import { directoryOf, directoryProblems, isDirectoryAddress } from './directory-form.ts'

/** What a request says of a provider. An absent field is unchanged, or has its default in a new provider. */
export interface ProviderForm {
  /** It is OpenID Connect by default, and never changes. */
  readonly kind?: ProviderKind | undefined
  readonly name?: string | undefined
  readonly displayName?: string | undefined
  readonly isActive?: boolean | undefined
  readonly issuer?: string | undefined
  readonly clientId?: string | undefined
  /** An empty one is unchanged; null removes it. */
  readonly clientSecret?: Secret | null | undefined
  readonly scopes?: readonly string[] | undefined
  readonly allowsCreation?: boolean | undefined
  readonly linksVerifiedDomains?: boolean | undefined
  readonly groupsClaim?: string | undefined
  readonly groupRules?: readonly { readonly group: string; readonly teamId: number }[] | undefined
  /** Null for none. */
  readonly defaultTeamId?: number | null | undefined
  /** Ignored unless it is a directory. */
  readonly directory?: DirectoryForm | undefined
}

const defaultScopes: readonly string[] = ['email', 'profile', 'offline_access']

/** Bounds of one column of 64 KiB on MySQL. */
const maxOptionsBytes = 48_000
const maxScopes = 20
const maxGroupRules = 500

const namePattern = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/
/** RFC 6749 §3.3. */
const scopePattern = /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/
const printable = /^[\x20-\x7e]+$/
const claimPath = /^[^.\s]{1,100}(?:\.[^.\s]{1,100}){0,4}$/
const control = /\p{Cc}/u

const isIssuer = (text: string): boolean => {
  if (text.length > 512 || !URL.canParse(text)) return false
  const url = new URL(text)
  return /^https?:$/.test(url.protocol) && url.search + url.hash + url.username + url.password === ''
}

type Problem = readonly [isWrong: boolean, sentence: string]

/** What differs between the kinds of providers. */
const rulesOfKind = {
  oidc: {
    required: ['name', 'issuer', 'clientId'],
    isIssuer,
    issuer: 'issuer: must be the https address of the provider, without query and fragment, at most 512 characters.',
    isClientId: (text: string) => text !== '' && text.length <= 255 && printable.test(text),
    clientId: 'client_id: must be 1 to 255 printable ASCII characters.',
    isGroups: (text: string) => claimPath.test(text),
    groups: 'groups_claim: must be a claim, or keys separated by dots, as in realm_access.roles.',
  },
  ldap: {
    required: ['name', 'issuer'],
    isIssuer: isDirectoryAddress,
    issuer: 'issuer: must be the address of the directory, as in ldaps://ldap.example:636, without a path.',
    isClientId: (text: string) => text.length <= 255 && !control.test(text),
    clientId: 'client_id: must be the DN to search with, at most 255 characters; empty for anonymous searches.',
    isGroups: (text: string) => /^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(text),
    groups: 'groups_claim: must be the name of an attribute, as in memberOf.',
  },
} as const satisfies Record<ProviderKind, unknown>

const problemsOf = (form: ProviderForm, kind: ProviderKind): readonly string[] => {
  const rules = rulesOfKind[kind]
  const { name, displayName, issuer, clientId, clientSecret, scopes, groupsClaim, groupRules } = form
  const secretText = clientSecret?.reveal() ?? ''
  const problems: readonly Problem[] = [
    [
      name !== undefined && !namePattern.test(name),
      'name: must be 1 to 40 lower-case letters, digits and hyphens, as in contoso.',
    ],
    [
      displayName !== undefined && (displayName.trim() === '' || displayName.length > 100 || control.test(displayName)),
      'display_name: must be 1 to 100 characters.',
    ],
    [issuer !== undefined && !rules.isIssuer(issuer), rules.issuer],
    [clientId !== undefined && !rules.isClientId(clientId), rules.clientId],
    [secretText.length > 2_000 || control.test(secretText), 'client_secret: must be at most 2000 characters.'],
    [
      scopes !== undefined && (scopes.length > maxScopes || !scopes.every((scope) => scopePattern.test(scope))),
      `scopes: must be at most ${maxScopes} names of scopes.`,
    ],
    [groupsClaim !== undefined && groupsClaim !== '' && !rules.isGroups(groupsClaim), rules.groups],
    [
      groupRules !== undefined &&
        (groupRules.length > maxGroupRules || groupRules.some(({ group }) => group === '' || group.length > 255)),
      `group_teams: must be at most ${maxGroupRules} rules, with groups of 1 to 255 characters.`,
    ],
  ]
  return problems.filter(([isWrong]) => isWrong).map(([, sentence]) => sentence)
}

export interface ReadProvider {
  readonly kind: ProviderKind
  readonly name: string
  readonly displayName: string
  readonly isActive: boolean
  readonly issuer: string
  readonly clientId: string
  readonly options: ProviderOptions
  readonly directory: DirectoryOptions | undefined
}

const rulesOf = (rules: NonNullable<ProviderForm['groupRules']>): readonly GroupRule[] =>
  rules.map(({ group, teamId }) => ({ group, teamId: teamId as TeamId }))

const optionsOf = (form: ProviderForm, before: ProviderOptions | undefined, kind: ProviderKind): ProviderOptions => ({
  scopes: kind === 'ldap' ? [] : (form.scopes ?? before?.scopes ?? defaultScopes),
  allowsCreation: form.allowsCreation ?? before?.allowsCreation ?? false,
  linksVerifiedDomains: form.linksVerifiedDomains ?? before?.linksVerifiedDomains ?? false,
  groupsClaim: form.groupsClaim ?? before?.groupsClaim ?? '',
  groupRules: form.groupRules === undefined ? (before?.groupRules ?? []) : rulesOf(form.groupRules),
  defaultTeamId:
    form.defaultTeamId === undefined
      ? before?.defaultTeamId
      : ((form.defaultTeamId ?? undefined) as TeamId | undefined),
})

/**
 * Returns the provider that a form describes, on top of the one before. The message repeats nothing that was sent.
 *
 * @param filterProblem returns what is wrong with a filter of a directory.
 */
export const readProvider = (
  form: ProviderForm,
  before: Provider | undefined,
  filterProblem: DirectorySearch['filterProblem'],
): Either<Failure<'ProviderRefused'>, ReadProvider> => {
  const kind = before?.kind ?? form.kind ?? 'oidc'
  const missing = rulesOfKind[kind].required
    .filter((field) => (form[field] ?? before?.[field]) === undefined)
    .map((field) => `${field === 'clientId' ? 'client_id' : field}: is required.`)
  const options = optionsOf(form, before?.options, kind)
  const directory = kind === 'ldap' ? directoryOf(form.directory ?? {}, before?.directory) : undefined
  const problems = [
    ...(form.kind === undefined || form.kind === kind ? [] : ['type: cannot be changed. Add another provider.']),
    ...missing,
    ...problemsOf(form, kind),
    ...(directory === undefined ? [] : directoryProblems(directory, filterProblem)),
  ]
  if (toWireJson(options).length > maxOptionsBytes)
    problems.push('group_teams: the rules are too long. Use fewer, or shorter names of groups.')
  if (problems.length > 0) return left(ProviderRefused(problems.join(' '), { errors: problems }))
  const name = form.name ?? before?.name ?? ''
  return right({
    kind,
    name,
    displayName: form.displayName ?? before?.displayName ?? name,
    isActive: form.isActive ?? before?.isActive ?? true,
    issuer: form.issuer ?? before?.issuer ?? '',
    clientId: form.clientId ?? before?.clientId ?? '',
    options,
    directory,
  })
}

/** Returns the teams that a provider puts people into. */
export const teamsOf = ({ groupRules, defaultTeamId }: ProviderOptions): readonly TeamId[] => [
  ...new Set([...groupRules.map(({ teamId }) => teamId), ...(defaultTeamId === undefined ? [] : [defaultTeamId])]),
]

/** Returns a DN in one spelling: lower case, without spaces beside its separators. */
const dnKey = (dn: string): string => dn.toLowerCase().replaceAll(/(?<!\\)\s*(?<!\\)([,=+])\s*/g, '$1')

/** Returns the teams that a person in these groups belongs to. Groups of a directory are compared as DNs. */
export const teamsFor = (
  { options, kind }: Pick<Provider, 'options' | 'kind'>,
  groups: readonly string[],
): readonly TeamId[] => {
  const keyOf = kind === 'ldap' ? dnKey : (group: string): string => group
  const held = new Set(groups.map(keyOf))
  return teamsOf({ ...options, groupRules: options.groupRules.filter(({ group }) => held.has(keyOf(group))) })
}
