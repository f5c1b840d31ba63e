import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { parseInstant } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import { accountNamePattern, maxAccountNameLength, parseAccountName } from '../../kernel/ids.ts'
import { definedFields } from '../../kernel/json.ts'
import type { Mail } from '../../mail/ports.ts'
import type { Call } from '../../kernel/principal.ts'
import type { Entropy, Secret } from '../../kernel/secret.ts'
import { randomBase62, secret } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfUser } from '../audit.ts'
import type { PasswordPolicy } from '../authentication/password-policy.ts'
import { checkPassword } from '../authentication/password-policy.ts'
import { parseEmailAddress } from '../emails/email-address.ts'
import { removeExpiredEmailClaim } from '../emails/link-codes.ts'
import { maySee, userMissing } from '../types.ts'
import type {
  DomainNames,
  IdentityChanges,
  IdentityStores,
  PasswordHasher,
  PreparedUser,
  UserFounder,
} from '../ports.ts'
import type { User, UserChanges, UserVisibility, Viewer } from '../types.ts'

/** Finds a user by name for a viewer. An organization's name does not match. */
export const findUser = async (
  { users }: Pick<IdentityStores, 'users'>,
  viewer: Viewer,
  login: string,
): Outcome<Failure<'UserMissing'>, User> => {
  const user = await users.byLogin(login)
  return user !== undefined && maySee(viewer, user) ? right(user) : left(userMissing())
}

export const ProfileInvalid = defineFailure('ProfileInvalid', 'Unprocessable', 'A field of the profile is not valid.')

const webAddress = /^https?:\/\/[^\s/?#@]+(?:[/?#]\S*)?$/i
const languageTag = /^[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*$/

/** Returns the conventional case of one subtag of a language tag, RFC 5646 §2.1.1. */
const subtagCase = (subtag: string): string => {
  if (/^[a-z]{2}$/.test(subtag)) return subtag.toUpperCase()
  return /^[a-z]{4}$/.test(subtag) ? subtag.charAt(0).toUpperCase() + subtag.slice(1) : subtag
}

/**
 * Returns the conventional spelling of a language tag: `de_de` becomes `de-DE`. Subtags after a single-character subtag
 * are lower case.
 */
const languageSpelling = (tag: string): string => {
  const subtags = tag.toLowerCase().split(/[-_]/)
  const single = subtags.findIndex((subtag) => subtag.length === 1)
  return subtags.map((subtag, i) => (i === 0 || (single !== -1 && i > single) ? subtag : subtagCase(subtag))).join('-')
}

/**
 * Returns the changes with their language in its conventional spelling. An empty text clears a field. The codec checks
 * lengths.
 */
export const readProfile = <C extends Pick<UserChanges, 'website' | 'language'>>(
  changes: C,
): Either<Failure<'ProfileInvalid'>, C> => {
  const { website, language } = changes
  if (website !== undefined && website !== '' && !webAddress.test(website))
    return left(ProfileInvalid('website: must be an http or https address.'))
  if (language === undefined || language === '') return right(changes)
  if (!languageTag.test(language)) return left(ProfileInvalid('language: must be a language tag, such as en-US.'))
  return right({ ...changes, language: languageSpelling(language) })
}

/** The text is not an instant, or is in the future. */
export const CreationTimeRefused = defineFailure(
  'CreationTimeRefused',
  'Unprocessable',
  '`created_at` is not a time in the past.',
)

/** Parses the RFC 3339 creation time of an imported account; undefined if it is absent. */
const creationTime = (
  text: string | undefined,
  now: Date,
): Either<Failure<'CreationTimeRefused'>, Date | undefined> => {
  if (text === undefined) return right(undefined)
  const at = parseInstant(text)
  if (at !== undefined && at.getTime() >= 0 && at.getTime() <= now.getTime()) return right(at)
  return left(
    CreationTimeRefused(
      'created_at: must be an RFC 3339 date-time since 1970 that is not in the future, such as 2024-05-01T08:00:00Z.',
    ),
  )
}

export const UserNameRefused = defineFailure(
  'UserNameRefused',
  'Unprocessable',
  'The name is reserved, or it has characters that are not accepted.',
)

export interface CreateUserDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly hasher: PasswordHasher
  readonly passwords: PasswordPolicy
  readonly domains: DomainNames
  readonly clock: Clock
}

export interface CreateUserInput {
  readonly login: string
  readonly email: string
  readonly password: Secret
  readonly fullName?: string | undefined
  readonly mustChangePassword?: boolean | undefined
  readonly isAdmin?: boolean | undefined
  readonly restricted?: boolean | undefined
  readonly visibility?: UserVisibility | undefined
  /** For an imported user: when the account was created. Defaults to now. */
  readonly createdAt?: Date | undefined
  /** Notifies the user by mail that the account exists. */
  readonly sendsNotice?: boolean | undefined
  /** For the operator at the command line: permits a name that is a reserved word. */
  readonly allowsReservedName?: boolean
}

export type CreateUserFailure =
  | Failure<'UserNameRefused'>
  | Failure<'UserNameTaken'>
  | Failure<'EmailInvalid'>
  | Failure<'EmailTaken'>
  | Failure<'PasswordTooWeak'>

/** Contains no password: other people may read a mail. */
const noticeMail = (to: string, login: string, id: UserId): Mail => ({
  to,
  subject: 'An account was created for you',
  paragraphs: [
    `An administrator created the account ${login} for you.`,
    'Ask the administrator for the password, or request a new one by this address.',
  ],
  accountId: id,
})

/** The length of a password that no one knows: more than 190 random bits. */
const unknownLength = 32

const nameRefusal = (input: CreateUserInput): Failure<'UserNameRefused'> | undefined => {
  const isWellFormed = input.login.length <= maxAccountNameLength && accountNamePattern.test(input.login)
  if (input.allowsReservedName === true && isWellFormed) return undefined
  const name = parseAccountName(input.login)
  return isLeft(name) ? UserNameRefused(name.left.message) : undefined
}

/** Without a policy, the password is random and not judged. */
type PreparationDeps = Pick<CreateUserDeps, 'domains' | 'hasher'> & { readonly passwords: PasswordPolicy | undefined }

/** Judges a new account, and hashes its password, before the transaction that inserts it. */
const prepareUser = async (
  { domains, hasher, passwords }: PreparationDeps,
  input: CreateUserInput,
): Outcome<Exclude<CreateUserFailure, Failure<'UserNameTaken'> | Failure<'EmailTaken'>>, PreparedUser> => {
  const refused = nameRefusal(input)
  if (refused !== undefined) return left(refused)
  const email = parseEmailAddress(input.email, domains)
  if (isLeft(email)) return email
  const fullName = input.fullName ?? ''
  const context = { login: input.login, emails: [email.right.text], fullName }
  const password = passwords === undefined ? right(input.password) : checkPassword(passwords, input.password, context)
  if (isLeft(password)) return password
  const phc = await hasher.hash(password.right)
  const isAdmin = input.isAdmin ?? false
  const insertIn: PreparedUser['insertIn'] = async (stores, now) => {
    const id = await stores.users.insert({
      login: input.login,
      fullName,
      passwordPhc: phc,
      mustChangePassword: input.mustChangePassword ?? false,
      isAdmin,
      isActive: true,
      restricted: input.restricted ?? false,
      visibility: input.visibility ?? 'public',
      createdAt: input.createdAt ?? now,
    })
    if (isLeft(id)) return id
    await removeExpiredEmailClaim(stores, email.right.key, now)
    const added = await stores.emails.insert(id.right, email.right, true, true, now)
    if (isLeft(added)) return added
    const shown = { is_admin: isAdmin, ...definedFields({ created_at: input.createdAt?.toISOString() }) }
    await stores.audit.record(auditOfUser({ id: id.right, login: input.login }, 'user.created', shown))
    if (input.sendsNotice === true) await stores.mail.post(noticeMail(email.right.text, input.login, id.right))
    const user = await stores.users.byId(id.right)
    if (user === undefined) throw new Error('a user that was just inserted is not there')
    return right(user)
  }
  return right({ insertIn })
}

/**
 * Creates a user with a primary address that counts as verified, since an administrator supplies it. Takes one
 * transaction; the password is hashed before it.
 */
export const makeCreateUser =
  (deps: CreateUserDeps) =>
  async (call: Call<User>, input: CreateUserInput): Outcome<CreateUserFailure, User> => {
    const prepared = await prepareUser(deps, input)
    if (isLeft(prepared)) return prepared
    return deps.unitOfWork.run<CreateUserFailure, User>(call, (stores) =>
      prepared.right.insertIn(stores, deps.clock.now()),
    )
  }

/** Creates users for other parts. No one knows the password of such an account: its user requests one by mail. */
export const makeUserFounder = ({
  entropy,
  ...deps
}: Pick<CreateUserDeps, 'domains' | 'hasher'> & { readonly entropy: Entropy }): UserFounder => ({
  async prepare({ isExpected = false, ...user }) {
    const password = secret(randomBase62(entropy, unknownLength))
    const input = { ...user, password, sendsNotice: !isExpected }
    const prepared = await prepareUser({ ...deps, passwords: undefined }, input)
    if (isLeft(prepared) && prepared.left.tag === 'PasswordTooWeak') throw new Error('a random password was judged')
    return prepared as Awaited<ReturnType<UserFounder['prepare']>>
  },
})

export interface ImportUserInput extends Omit<CreateUserInput, 'createdAt'> {
  /** When an imported account was created, as an RFC 3339 instant. Absent: now. */
  readonly createdAt: string | undefined
}

/** Like `makeCreateUser`, for a site admin who may also name the creation time of an imported account. */
export const makeImportUser = (deps: CreateUserDeps) => {
  const create = makeCreateUser(deps)
  return async (
    call: Call<User>,
    input: ImportUserInput,
  ): Outcome<CreateUserFailure | Failure<'CreationTimeRefused'>, User> => {
    const createdAt = creationTime(input.createdAt, deps.clock.now())
    return isLeft(createdAt) ? createdAt : create(call, { ...input, createdAt: createdAt.right })
  }
}

export interface CreateFirstAdminDeps extends CreateUserDeps {
  readonly stores: IdentityStores
}

export interface FirstAdminInput {
  readonly login: string
  readonly email: string
  readonly password: Secret
}

/**
 * Creates the first site admin if the store has none, and returns whether this call created one. Two instances that
 * start concurrently try the same name, and the unique key admits one: the other finds an admin and returns `false`.
 */
export const makeCreateFirstAdmin = (deps: CreateFirstAdminDeps) => {
  const createUser = makeCreateUser(deps)
  return async (call: Call, input: FirstAdminInput): Outcome<CreateUserFailure, boolean> => {
    if (await deps.stores.users.hasAdmin()) return right(false)
    const created = await createUser(call, { ...input, isAdmin: true, allowsReservedName: true })
    if (!isLeft(created)) return right(true)
    const isRace = created.left.tag === 'UserNameTaken' || created.left.tag === 'EmailTaken'
    return isRace && (await deps.stores.users.hasAdmin()) ? right(false) : left(created.left)
  }
}
