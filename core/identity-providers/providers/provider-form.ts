import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../kernel/failure.ts'
import type { TeamId } from '../../kernel/ids.ts'
import { toWireJson } from '../../kernel/json.ts'
import type { Secret } from '../../kernel/secret.ts'
import { ProviderRefused } from '../failures.ts'
import type { GroupRule, Provider, ProviderOptions } from '../types.ts'

/** What a request says of a provider. An absent field is unchanged, or has its default in a new provider. */
export interface ProviderForm {
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

const problemsOf = (form: ProviderForm): readonly string[] => {
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
    [
      issuer !== undefined && !isIssuer(issuer),
      'issuer: must be the https address of the provider, without query and fragment, at most 512 characters.',
    ],
    [
      clientId !== undefined && (clientId === '' || clientId.length > 255 || !printable.test(clientId)),
      'client_id: must be 1 to 255 printable ASCII characters.',
    ],
    [secretText.length > 2_000 || control.test(secretText), 'client_secret: must be at most 2000 characters.'],
    [
      scopes !== undefined && (scopes.length > maxScopes || !scopes.every((scope) => scopePattern.test(scope))),
      `scopes: must be at most ${maxScopes} names of scopes.`,
    ],
    [
      groupsClaim !== undefined && groupsClaim !== '' && !claimPath.test(groupsClaim),
      'groups_claim: must be a claim, or keys separated by dots, as in realm_access.roles.',
    ],
    [
      groupRules !== undefined &&
        (groupRules.length > maxGroupRules || groupRules.some(({ group }) => group === '' || group.length > 255)),
      `group_teams: must be at most ${maxGroupRules} rules, with groups of 1 to 255 characters.`,
    ],
  ]
  return problems.filter(([isWrong]) => isWrong).map(([, sentence]) => sentence)
}

export interface ReadProvider {
  readonly name: string
  readonly displayName: string
  readonly isActive: boolean
  readonly issuer: string
  readonly clientId: string
  readonly options: ProviderOptions
}

const rulesOf = (rules: NonNullable<ProviderForm['groupRules']>): readonly GroupRule[] =>
  rules.map(({ group, teamId }) => ({ group, teamId: teamId as TeamId }))

const optionsOf = (form: ProviderForm, before: ProviderOptions | undefined): ProviderOptions => ({
  scopes: form.scopes ?? before?.scopes ?? defaultScopes,
  allowsCreation: form.allowsCreation ?? before?.allowsCreation ?? false,
  linksVerifiedDomains: form.linksVerifiedDomains ?? before?.linksVerifiedDomains ?? false,
  groupsClaim: form.groupsClaim ?? before?.groupsClaim ?? '',
  groupRules: form.groupRules === undefined ? (before?.groupRules ?? []) : rulesOf(form.groupRules),
  defaultTeamId:
    form.defaultTeamId === undefined
      ? before?.defaultTeamId
      : ((form.defaultTeamId ?? undefined) as TeamId | undefined),
})

/** Returns the provider that a form describes, on top of the one before. The message repeats nothing that was sent. */
export const readProvider = (
  form: ProviderForm,
  before: Provider | undefined,
): Either<Failure<'ProviderRefused'>, ReadProvider> => {
  const missing = (['name', 'issuer', 'clientId'] as const)
    .filter((field) => (form[field] ?? before?.[field]) === undefined)
    .map((field) => `${field === 'clientId' ? 'client_id' : field}: is required.`)
  const problems = [...missing, ...problemsOf(form)]
  const options = optionsOf(form, before?.options)
  if (toWireJson(options).length > maxOptionsBytes)
    problems.push('group_teams: the rules are too long. Use fewer, or shorter names of groups.')
  if (problems.length > 0) return left(ProviderRefused(problems.join(' '), { errors: problems }))
  const name = form.name ?? before?.name ?? ''
  return right({
    name,
    displayName: form.displayName ?? before?.displayName ?? name,
    isActive: form.isActive ?? before?.isActive ?? true,
    issuer: form.issuer ?? before?.issuer ?? '',
    clientId: form.clientId ?? before?.clientId ?? '',
    options,
  })
}

/** Returns the teams that a provider puts people into. */
export const teamsOf = ({ groupRules, defaultTeamId }: ProviderOptions): readonly TeamId[] => [
  ...new Set([...groupRules.map(({ teamId }) => teamId), ...(defaultTeamId === undefined ? [] : [defaultTeamId])]),
]

/** Returns the teams that a person in these groups belongs to. */
export const teamsFor = (options: ProviderOptions, groups: readonly string[]): readonly TeamId[] => {
  const held = new Set(groups)
  return teamsOf({ ...options, groupRules: options.groupRules.filter(({ group }) => held.has(group)) })
}
